//! An index of where a file's MCU rows begin, so that a region far down can be decoded without the rows above it.
//!
//! Restart markers would do the same, but few files have them. Here is what a decoder has to know to begin at a row: the
//! bit of the file, and the DC coefficients before it.

mod build;
mod wire;

use crate::checksum::checksum;
use crate::frame::Frame;

/// Where some MCU rows of a baseline file begin.
///
/// It names the file that it was made of by length and checksum. With another file, or one that has changed since, it is
/// ignored. So pixels are the same with and without it, provided that it comes from [`RestartIndex::build`]: a checksum
/// finds accidents, not somebody who writes an index with false positions and the right checksum. What that one gets are
/// false pixels or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestartIndex {
    /// Length and checksum of the file.
    length: u64,
    file: u64,
    /// MCU rows from one entry to the next, at least 1.
    every: usize,
    components: usize,
    /// Of rows `every`, `2 * every` and so on, positions strictly increasing.
    entries: Vec<Entry>,
}

/// The beginning of an MCU row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entry {
    /// Counted from the first bit of the file.
    bit: u64,
    /// The DC coefficients before it; 0 for components that there are not.
    previous: [i32; 4],
}

/// A part of a scan that can be read by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The MCU rows.
    pub(crate) row: usize,
    pub(crate) end: usize,
    /// The bytes of the file that have them.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Bits of the first byte that belong to the row before.
    pub(crate) bit: usize,
    pub(crate) previous: [i32; 4],
}

impl RestartIndex {
    /// Whether it has no entries, and so is of no use: that of a small file, or of one with restart markers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many rows it has the beginning of.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The pieces of the scan at byte `start` that have MCU rows `first..=last`, and as little else as can be. `None`
    /// where that is all and `whole` rows are read, or where the index is not of this file.
    pub(crate) fn pieces(
        &self,
        data: &[u8],
        start: usize,
        frame: &Frame,
        (first, last): (usize, usize),
        whole: bool,
    ) -> Option<impl Iterator<Item = Piece>> {
        let (first, last) = (first / self.every, last / self.every);
        let all = whole && first == 0 && last >= self.entries.len();
        if self.is_empty() || all || !self.is_of(data, start, frame) {
            return None;
        }
        let begin = Entry { bit: start as u64 * 8, previous: [0; 4] };
        let entry = move |number: usize| {
            number.checked_sub(1).map_or(Some(begin), |at| self.entries.get(at).copied())
        };
        let (rows, length) = (frame.mcus_high, data.len());
        let place = |bit: u64| (bit / 8) as usize;
        Some((first..=last).map_while(move |number| {
            let Entry { bit, previous } = entry(number)?;
            // To the byte that the last bit is in, and the stuffing behind it.
            let to = entry(number + 1).map_or(length, |next| (place(next.bit) + 2).min(length));
            let (row, end) = (number * self.every, ((number + 1) * self.every).min(rows));
            Some(Piece { row, end, from: place(bit), to, bit: (bit % 8) as usize, previous })
        }))
    }

    /// Whether it is of that file, whose scan starts at that byte. All positions lie inside the scan then.
    fn is_of(&self, data: &[u8], start: usize, frame: &Frame) -> bool {
        let inside = |entry: &Entry| entry.bit > start as u64 * 8 && entry.bit < self.length * 8;
        self.length == data.len() as u64
            && self.components == frame.components.len()
            && self.entries.len() == (frame.mcus_high - 1) / self.every
            && self.entries.first().is_none_or(inside)
            && self.entries.last().is_none_or(inside)
            && self.file == checksum(data)
    }
}

#[cfg(test)]
mod tests;
