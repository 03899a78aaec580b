//! The stretch of a stream that is in memory.

use std::io::{self, Read};

use super::prefix::STRIDE_BYTES;
use crate::codec::read_retrying;

/// Bytes read at a time.
const STEP_BYTES: usize = 1 << 20;

pub(super) struct Window<R> {
    source: R,
    bytes: Vec<u8>,
    /// How many of `bytes` come from the stream; the rest is room for the next read.
    filled: usize,
    /// Position of `bytes[0]` in the stream.
    base: u64,
    ended: bool,
    error: Option<io::Error>,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, bytes: Vec::new(), filled: 0, base: 0, ended: false, error: None }
    }

    pub(super) fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// `len` bytes from `start` on, fewer at the end of the stream. Reads what is missing, a step at a
    /// time, so that memory grows only with bytes that exist.
    pub(super) fn view(&mut self, start: u64, len: usize) -> &[u8] {
        let from = self.index(start);
        let until = from.saturating_add(len);
        while self.filled < until && !self.ended {
            if self.bytes.len() - self.filled < STEP_BYTES / 2 {
                self.bytes.resize(self.filled + STEP_BYTES, 0);
            }
            let result = read_retrying(&mut self.source, &mut self.bytes[self.filled..]);
            let n = result.as_ref().map_or(0, |&n| n);
            self.filled += n;
            self.ended = n == 0;
            self.error = result.err();
        }
        &self.bytes[from..until.min(self.filled)]
    }

    /// What is in memory of `start..end`, which must be in memory.
    pub(super) fn held(&self, start: u64, end: u64) -> &[u8] {
        &self.bytes[self.index(start)..self.index(end)]
    }

    /// Allows bytes before `position` to go (but for the stride that running checksums look back).
    pub(super) fn forget_before(&mut self, position: u64) {
        let keep = position.saturating_sub(STRIDE_BYTES).max(self.base);
        let gone = self.index(keep);
        // At least half, so that moving the rest costs no more than what was passed over.
        if gone >= STEP_BYTES && gone >= self.filled / 2 {
            self.bytes.drain(..gone);
            self.filled -= gone;
            self.base = keep;
        }
    }

    fn index(&self, position: u64) -> usize {
        // The distance is that between two bytes in memory (or one past them).
        (position - self.base) as usize
    }
}
