//! Takes the stuffing out of a scan and finds its end and its restart segments.

use crate::index::Piece;
use crate::simd::Level;
use crate::{Error, Result};

/// Zero bytes after a scan: more than one block can use up, so that readers need to look at the end once a block only.
pub(crate) const PADDING: usize = 512;

/// The data of one scan without stuffing. The segments between restart markers follow each other.
#[derive(Default)]
pub(crate) struct ScanData {
    /// The bytes, and [`PADDING`] zeros.
    pub(crate) bytes: Vec<u8>,
    /// The end of each segment in `bytes`.
    pub(crate) ends: Vec<usize>,
    /// The start of each segment where those are pieces of an index; else empty.
    pub(crate) starts: Vec<Start>,
}

/// Where a piece of a scan starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) bit: usize,
    /// The DC coefficients before it.
    pub(crate) previous: [i32; 4],
    /// How many MCUs the piece has.
    pub(crate) mcus: usize,
}

impl ScanData {
    /// Reads the scan at `pos` of `data` and returns the position of the marker that ends it (or the end of the data).
    ///
    /// # Errors
    ///
    /// When restart markers come in a wrong order.
    pub(crate) fn read(
        &mut self,
        data: &[u8],
        mut pos: usize,
        restarts: bool,
        level: Level,
    ) -> Result<usize> {
        self.clear();
        self.bytes.reserve(data.len() - pos + PADDING + 64);
        loop {
            pos += level.copy_unstuffed(&data[pos..], &mut self.bytes);
            // At an FF that is not followed by 00, or at the end.
            let mut after = pos;
            while data.get(after) == Some(&0xFF) {
                after += 1;
            }
            match data.get(after) {
                Some(0) => return Err(Error::Corrupt("fill bytes inside a scan")),
                Some(marker @ 0xD0..=0xD7) if restarts => {
                    if usize::from(marker - 0xD0) != self.ends.len() & 7 {
                        return Err(Error::Corrupt("restart markers are out of order"));
                    }
                    self.ends.push(self.bytes.len());
                    pos = after + 1;
                }
                _ => break,
            }
        }
        self.ends.push(self.bytes.len());
        self.bytes.resize(self.bytes.len() + PADDING, 0);
        Ok(pos)
    }

    /// Reads pieces of a scan without restart markers, each as a segment, and returns the first MCU row.
    pub(crate) fn read_pieces(
        &mut self,
        data: &[u8],
        pieces: impl Iterator<Item = Piece>,
        wide: usize,
        level: Level,
    ) -> usize {
        self.clear();
        let mut first = usize::MAX;
        for Piece { row, end, from, to, bit, previous } in pieces {
            first = first.min(row);
            let bit = self.bytes.len() * 8 + bit;
            self.starts.push(Start { bit, previous, mcus: (end - row) * wide });
            self.bytes.reserve(to - from + PADDING + 64);
            level.copy_unstuffed(&data[from..to], &mut self.bytes);
            self.ends.push(self.bytes.len());
        }
        self.bytes.resize(self.bytes.len() + PADDING, 0);
        first
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.starts.clear();
    }
}

/// Appends the bytes of `data` up to the first FF that is not followed by 00, without the 00 after the others. Returns
/// how many bytes of `data` that took.
pub(crate) fn copy_plain(data: &[u8], out: &mut Vec<u8>) -> usize {
    let mut pos = 0;
    loop {
        let run = data[pos..].iter().position(|&b| b == 0xFF).unwrap_or(data.len() - pos);
        out.extend_from_slice(&data[pos..pos + run]);
        pos += run;
        if data.get(pos + 1) != Some(&0) {
            return pos;
        }
        out.push(0xFF);
        pos += 2;
    }
}
