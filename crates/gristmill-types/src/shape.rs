//! The full shape of a tensor.

use crate::{Error, Result};

/// Most dimensions that a tensor may have.
pub const MAX_RANK: usize = 8;

/// The sizes of a tensor's dimensions, outermost first, held inline so that views cost no
/// allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: u8,
}

impl Shape {
    /// The shape of a scalar.
    pub const SCALAR: Self = Self { dims: [0; MAX_RANK], rank: 0 };

    /// The shape with these dimensions.
    ///
    /// # Errors
    /// `InvalidArgument` for more than [`MAX_RANK`] dimensions or an element count over `isize`.
    pub fn new(dims: &[usize]) -> Result<Self> {
        if dims.len() > MAX_RANK {
            return Err(Error::invalid(format!(
                "shape has {} dimensions, at most {MAX_RANK} are supported",
                dims.len()
            )));
        }
        let mut shape = Self::SCALAR;
        shape.dims[..dims.len()].copy_from_slice(dims);
        shape.rank = dims.len() as u8;
        let mut count = 1usize;
        for &d in dims {
            count = count
                .checked_mul(d.max(1))
                .filter(|&c| c <= isize::MAX as usize / 16)
                .ok_or_else(|| Error::invalid(format!("shape {dims:?} has too many elements")))?;
        }
        Ok(shape)
    }

    /// The shape `[n]`.
    #[inline]
    pub fn vector(n: usize) -> Self {
        let mut shape = Self::SCALAR;
        shape.dims[0] = n;
        shape.rank = 1;
        shape
    }

    /// The shape `[height, width, channels]`.
    pub fn image(height: usize, width: usize, channels: usize) -> Self {
        let mut shape = Self::SCALAR;
        shape.dims[..3].copy_from_slice(&[height, width, channels]);
        shape.rank = 3;
        shape
    }

    /// The dimensions, outermost first.
    #[inline]
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank as usize]
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The number of elements (1 for a scalar).
    #[inline]
    pub fn count(&self) -> usize {
        self.dims().iter().product()
    }

    /// `[n]` followed by these dimensions.
    ///
    /// # Errors
    /// As [`Shape::new`].
    pub fn prepend(&self, n: usize) -> Result<Self> {
        let mut dims = [0; MAX_RANK + 1];
        dims[0] = n;
        dims[1..=self.rank()].copy_from_slice(self.dims());
        Self::new(&dims[..=self.rank()])
    }

    /// The shape of one row: without the outermost dimension. A scalar gives a scalar.
    pub fn row(&self) -> Self {
        let mut shape = Self::SCALAR;
        let n = self.rank().saturating_sub(1);
        shape.dims[..n].copy_from_slice(&self.dims[1..=n]);
        shape.rank = n as u8;
        shape
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.dims().iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { "," } else { "" })?;
        }
        f.write_str("]")
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_and_prepend_are_inverse() {
        let s = Shape::new(&[4, 5, 6]).unwrap();
        assert_eq!(s.row().dims(), &[5, 6]);
        assert_eq!(s.row().prepend(4).unwrap(), s);
        assert_eq!((s.count(), Shape::SCALAR.count()), (120, 1));
        assert_eq!(s.to_string(), "[4,5,6]");
    }

    #[test]
    fn refuses_what_cannot_be_held() {
        assert!(Shape::new(&[1; 9]).is_err());
        assert!(Shape::new(&[usize::MAX, 2]).is_err());
        assert!(Shape::new(&[0, usize::MAX / 2, 3]).is_err());
    }
}
