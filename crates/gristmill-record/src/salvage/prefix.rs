//! Running checksums over a stretch, from which that of any part follows in constant time.

use std::io::Read;

use super::window::Window;
use crate::crc;

/// A running checksum is kept every so many bytes.
pub(super) const STRIDE_BYTES: u64 = 64;

pub(super) struct Prefix {
    start: u64,
    /// `sums[i]`: the checksum of the first `i * STRIDE_BYTES` bytes.
    sums: Vec<u32>,
}

impl Prefix {
    pub(super) fn new(start: u64) -> Self {
        let sums = vec![0];
        Self { start, sums }
    }

    /// One past the last byte that full strides cover.
    pub(super) fn end(&self) -> u64 {
        self.start + (self.sums.len() as u64 - 1) * STRIDE_BYTES
    }

    /// Covers the full strides up to `end`, which must be in memory.
    pub(super) fn extend<R: Read>(&mut self, window: &Window<R>, end: u64) {
        let mut at = self.end();
        let mut sum = *self.sums.last().expect("starts with one");
        while at + STRIDE_BYTES <= end {
            sum = crc::extend(sum, window.held(at, at + STRIDE_BYTES));
            self.sums.push(sum);
            at += STRIDE_BYTES;
        }
    }

    /// The checksum of `from..to`, both within the covered stretch or less than a stride behind it.
    pub(super) fn of_range<R: Read>(&self, window: &Window<R>, from: u64, to: u64) -> u32 {
        crc::of_suffix(self.until(window, from), self.until(window, to), to - from)
    }

    /// The checksum from the beginning up to `position`.
    fn until<R: Read>(&self, window: &Window<R>, position: u64) -> u32 {
        let strides = ((position - self.start) / STRIDE_BYTES).min(self.sums.len() as u64 - 1);
        let from = self.start + strides * STRIDE_BYTES;
        crc::extend(self.sums[strides as usize], window.held(from, position))
    }
}
