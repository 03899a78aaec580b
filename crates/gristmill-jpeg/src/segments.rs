//! Where a scan's restart segments begin.

use crate::{Error, Result};

/// Counts a scan's MCUs between restart markers.
pub(crate) struct Segments {
    interval: usize,
    pub(crate) left: usize,
    current: usize,
}

impl Segments {
    pub(crate) fn new(restart: usize) -> Self {
        let interval = if restart == 0 { usize::MAX } else { restart };
        Self { interval, left: interval, current: 0 }
    }

    /// To be called before each MCU: whether a new segment begins with it. `bit` is where the data have been read to.
    #[inline]
    pub(crate) fn next(&mut self, ends: &[usize], bit: usize) -> Result<bool> {
        if self.left > 0 {
            return Ok(false);
        }
        if bit > ends[self.current] * 8 {
            return Err(Error::Corrupt("a scan ends early"));
        }
        self.current += 1;
        if self.current == ends.len() {
            return Err(Error::Corrupt("a restart marker is missing"));
        }
        self.left = self.interval;
        Ok(true)
    }

    /// The first bit of the current segment.
    pub(crate) fn start(&self, ends: &[usize]) -> usize {
        ends[self.current - 1] * 8
    }

    #[inline]
    pub(crate) fn pass(&mut self, count: usize) {
        if self.interval != usize::MAX {
            self.left -= count;
        }
    }

    pub(crate) fn finish(&self, ends: &[usize], bit: usize) -> Result<()> {
        if bit > ends[self.current] * 8 {
            return Err(Error::Corrupt("a scan ends early"));
        }
        if self.current + 1 != ends.len() {
            return Err(Error::Corrupt("a scan has too many segments"));
        }
        Ok(())
    }
}
