//! Saved positions as bytes: varints and length-prefixed strings.

use gristmill_types::{Error, Result};

/// Writes a state.
#[derive(Debug, Default)]
pub struct StateWriter(Vec<u8>);

impl StateWriter {
    /// A writer into the memory of an earlier state, which is forgotten.
    pub fn reusing(mut memory: Vec<u8>) -> Self {
        memory.clear();
        Self(memory)
    }

    /// Appends a number.
    pub fn u64(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }

    /// Appends a truth value.
    pub fn bool(&mut self, v: bool) {
        self.0.push(u8::from(v));
    }

    /// Appends bytes with their length.
    pub fn bytes(&mut self, v: &[u8]) {
        self.u64(v.len() as u64);
        self.0.extend_from_slice(v);
    }

    /// Appends what `write` writes, as [`StateWriter::bytes`] would append those bytes.
    pub fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        write(self);
        let end = self.0.len();
        self.u64((end - start) as u64);
        let head = self.0.len() - end;
        self.0[start..].rotate_right(head);
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a state; the bytes are untrusted.
#[derive(Debug)]
pub struct StateReader<'a>(&'a [u8]);

impl<'a> StateReader<'a> {
    /// A reader at the start of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn broken() -> Error {
        Error::invalid("the iterator state is damaged or was made by another version")
    }

    /// The next number.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none.
    pub fn u64(&mut self) -> Result<u64> {
        let mut v = 0u64;
        for shift in (0..64).step_by(7) {
            let (&b, rest) = self.0.split_first().ok_or_else(Self::broken)?;
            self.0 = rest;
            v |= u64::from(b & 0x7F) << shift;
            if b < 0x80 {
                return Ok(v);
            }
        }
        Err(Self::broken())
    }

    /// The next number as a count of things, at most `limit`.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none or it is larger.
    pub fn count(&mut self, limit: usize) -> Result<usize> {
        usize::try_from(self.u64()?).ok().filter(|&n| n <= limit).ok_or_else(Self::broken)
    }

    /// The next truth value.
    ///
    /// # Errors
    /// `InvalidArgument` if there is none.
    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.u64()? != 0)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// `InvalidArgument` if they are not all there.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = usize::try_from(self.u64()?).map_err(|_| Self::broken())?;
        if n > self.0.len() {
            return Err(Self::broken());
        }
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(head)
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_and_refuses_the_rest() {
        let mut w = StateWriter::default();
        for v in [0, 127, 128, u64::MAX] {
            w.u64(v);
        }
        w.bytes(b"abc");
        w.bool(true);
        let bytes = w.into_bytes();
        let mut r = StateReader::new(&bytes);
        assert_eq!((0..4).map(|_| r.u64().unwrap()).collect::<Vec<_>>(), [0, 127, 128, u64::MAX]);
        assert_eq!(r.bytes().unwrap(), b"abc");
        assert!(r.bool().unwrap());
        assert_eq!(r.remaining(), 0);
        for cut in 0..bytes.len() {
            let mut r = StateReader::new(&bytes[..cut]);
            let all = (|| {
                for _ in 0..4 {
                    r.u64()?;
                }
                r.bytes()?;
                r.bool()
            })();
            assert!(all.is_err(), "{cut}");
        }
    }
}
