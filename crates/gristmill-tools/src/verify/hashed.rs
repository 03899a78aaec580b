//! The checksum of a whole file, taken while it is read.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use crc_fast::{CrcAlgorithm, Digest};

/// CRC32C and number of the bytes read so far.
#[derive(Clone)]
pub(crate) struct Sum(Rc<RefCell<(Digest, u64)>>);

impl Sum {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new((Digest::new(CrcAlgorithm::Crc32Iscsi), 0))))
    }

    /// The checksum, if as many bytes as the file has were read.
    pub(crate) fn of_whole(&self, file_bytes: u64) -> Option<u32> {
        let held = self.0.borrow();
        // 32 bits wide.
        (held.1 == file_bytes).then(|| held.0.finalize() as u32)
    }
}

/// A source that is only read forwards and sums up what it gives.
pub(crate) struct Hashed<R> {
    inner: R,
    sum: Sum,
}

impl<R> Hashed<R> {
    pub(crate) fn new(inner: R, sum: Sum) -> Self {
        Self { inner, sum }
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        let mut held = self.sum.0.borrow_mut();
        held.0.update(&into[..n]);
        held.1 += n as u64;
        Ok(n)
    }
}
