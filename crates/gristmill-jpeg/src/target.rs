//! Where finished rows go.

use crate::{Error, Result};

/// What is told of finished rows: the first row's number, counted from the top of the output, and the rows.
pub(crate) type OnRows<'a> = dyn FnMut(usize, &[u8]) + 'a;

/// Where finished rows go.
pub(crate) enum Target<'a> {
    /// An image of the right size.
    Whole(&'a mut [u8]),
    /// Somebody who looks at them as they come.
    Rows(&'a mut OnRows<'a>, Vec<u8>),
}

impl Target<'_> {
    /// # Errors
    ///
    /// When the image is of another size than `expected` bytes.
    pub(crate) fn check(&self, expected: usize) -> Result<()> {
        match self {
            Self::Whole(out) if out.len() != expected => Err(Error::Size { expected, found: out.len() }),
            _ => Ok(()),
        }
    }

    /// Lets `make` fill rows `first..end`, each of `stride` bytes.
    pub(crate) fn rows(&mut self, first: usize, end: usize, stride: usize, make: impl FnOnce(&mut [u8])) {
        match self {
            Self::Whole(out) => make(&mut out[first * stride..end * stride]),
            Self::Rows(tell, room) => {
                room.resize((end - first) * stride, 0);
                make(room);
                tell(first, room);
            }
        }
    }
}
