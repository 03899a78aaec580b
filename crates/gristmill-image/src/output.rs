//! Where a decoder puts its pixels.

use crate::{Error, Result};

/// Supplies the memory of a decoded image once its shape is known.
pub trait Output<T> {
    /// The slice to be filled: exactly as many samples as the product of `shape`, which is
    /// `[height, width, channels]`, or `[frames, height, width, channels]` for an animation.
    ///
    /// What the slice holds does not matter. It is asked for once per image, or again with the
    /// same shape where a decoder begins anew; when decoding fails afterwards its contents mean nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Output`] when the shape is not acceptable.
    fn slot(&mut self, shape: &[usize]) -> Result<&mut [T]>;
}

/// Fresh memory, without the shape; use [`Image`] to learn it.
impl<T: Default + Clone> Output<T> for Vec<T> {
    fn slot(&mut self, shape: &[usize]) -> Result<&mut [T]> {
        self.clear();
        self.resize(shape.iter().product(), T::default());
        Ok(self)
    }
}

/// A decoded image in memory of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Image<T> {
    /// `[height, width, channels]` or `[frames, height, width, channels]`.
    pub shape: Vec<usize>,
    /// The samples, row-major.
    pub data: Vec<T>,
}

impl<T: Default + Clone> Output<T> for Image<T> {
    fn slot(&mut self, shape: &[usize]) -> Result<&mut [T]> {
        self.shape = shape.to_vec();
        self.data.slot(shape)
    }
}

/// Asks `output` for `shape` and checks that it gave as much as that.
pub(crate) fn slot<'a, T>(output: &'a mut (impl Output<T> + ?Sized), shape: &[usize]) -> Result<&'a mut [T]> {
    let expected: usize = shape.iter().product();
    let slice = output.slot(shape)?;
    if slice.len() == expected {
        Ok(slice)
    } else {
        Err(Error::Output(format!(
            "the output has room for {} samples, but the image of shape {shape:?} has {expected}",
            slice.len()
        )))
    }
}
