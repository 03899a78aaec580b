//! What is decoded.

use crate::RestartIndex;

/// A file, and an index of it where there is one. Functions that take one take the bytes of a file as well.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The file.
    pub data: &'a [u8],
    /// Where its MCU rows begin. An index of other bytes is ignored.
    pub index: Option<&'a RestartIndex>,
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Input<'a> {
    fn from(data: &'a T) -> Self {
        Self { data: data.as_ref(), index: None }
    }
}
