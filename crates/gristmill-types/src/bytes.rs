//! A byte string that shares memory.

use crate::Buffer;
use std::sync::Arc;

/// A byte string: a range of a shared buffer. Cloning copies no bytes.
#[derive(Clone)]
pub struct Bytes {
    buffer: Option<Arc<Buffer>>,
    start: usize,
    len: usize,
}

impl Bytes {
    /// The empty string; holds no memory.
    pub const EMPTY: Self = Self { buffer: None, start: 0, len: 0 };

    /// A string of its own with these bytes.
    pub fn copy_from(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::EMPTY;
        }
        Self { start: 0, len: bytes.len(), buffer: Some(Arc::new(Buffer::from_slice(bytes))) }
    }

    /// The bytes `start..start + len` of a shared buffer.
    ///
    /// # Panics
    /// If the range lies outside the buffer.
    #[inline]
    pub fn slice_of(buffer: &Arc<Buffer>, start: usize, len: usize) -> Self {
        assert!(start <= buffer.len() && len <= buffer.len() - start, "range inside the buffer");
        Self { buffer: Some(Arc::clone(buffer)), start, len }
    }

    /// A part of this string that shares its memory.
    ///
    /// # Panics
    /// If the range lies outside the string.
    #[must_use]
    #[inline]
    pub fn slice(&self, start: usize, len: usize) -> Self {
        assert!(start <= self.len && len <= self.len - start, "range inside the string");
        Self { buffer: self.buffer.clone(), start: self.start + start, len }
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.buffer {
            Some(b) => &b.as_slice()[self.start..self.start + self.len],
            None => &[],
        }
    }

    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The shared buffer and the place of the first byte in it; `None` for an empty string of no buffer.
    pub(crate) fn shared(&self) -> Option<(&Arc<Buffer>, usize)> {
        self.buffer.as_ref().map(|b| (b, self.start))
    }

    /// This string in memory of its own, unless it fills more than half of what it shares: what
    /// outlives its block must not keep a whole read buffer alive.
    #[must_use]
    pub fn detached(self) -> Self {
        match &self.buffer {
            Some(b) if self.len < b.len() / 2 => Self::copy_from(self.as_slice()),
            _ => self,
        }
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl From<&[u8]> for Bytes {
    fn from(b: &[u8]) -> Self {
        Self::copy_from(b)
    }
}

impl From<&str> for Bytes {
    fn from(b: &str) -> Self {
        Self::copy_from(b.as_bytes())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(b: Vec<u8>) -> Self {
        Self::copy_from(&b)
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.as_slice().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_share_and_detach() {
        let whole = Arc::new(Buffer::from_slice(b"0123456789"));
        let part = Bytes::slice_of(&whole, 2, 3);
        assert_eq!(&*part, b"234");
        assert_eq!(&*part.slice(1, 2), b"34");
        assert_eq!(Arc::strong_count(&whole), 2);
        let own = part.detached();
        assert_eq!((&*own, Arc::strong_count(&whole)), (&b"234"[..], 1));
    }
}
