//! The checksum of a whole file, taken while it is read.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use gristmill_record::crc::Running;

/// CRC32C of the bytes read so far.
#[derive(Clone, Default)]
pub(crate) struct Sum(Rc<RefCell<Running>>);

impl Sum {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The checksum, if as many bytes as the file has were read.
    pub(crate) fn of_whole(&self, file_bytes: u64) -> Option<u32> {
        let held = self.0.borrow();
        (held.bytes() == file_bytes).then(|| held.value())
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
        self.sum.0.borrow_mut().update(&into[..n]);
        Ok(n)
    }
}
