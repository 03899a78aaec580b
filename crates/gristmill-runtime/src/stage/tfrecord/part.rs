//! The records of a part of a file.

use gristmill_record::frame::{HEADER_BYTES, OVERHEAD_BYTES, Span, Stop, scan_frames};
use gristmill_types::{Buffer, Shape, StrSpan, Strings, Tensor};
use std::sync::Arc;

/// Whole records, as they lie in a part of a file.
pub(super) struct Part {
    /// The payloads, in the part's buffer and that of the record which its end cuts in two.
    pub(super) records: Tensor,
    /// Where the first frame begins that the part may have.
    pub(super) begin: u64,
    /// Where the records' frames begin in the file.
    pub(super) offsets: Vec<u64>,
    /// Where the frame behind them begins.
    pub(super) end: u64,
    /// Whether the plain reader goes on behind them.
    pub(super) last: bool,
}

/// The walk over the frames of a part, which goes on as its bytes come in.
pub(super) struct Walk {
    /// The first byte of the part, and of its first frame.
    pub(super) from: u64,
    pub(super) begin: u64,
    /// Where in the part the next frame begins.
    pub(super) at: usize,
    /// Why the walk did not go further.
    pub(super) stop: Stop,
    /// The payloads found by one step.
    found: Vec<Span>,
    places: Vec<StrSpan>,
    offsets: Vec<u64>,
    /// Bytes that a frame may take.
    each: u64,
}

impl Walk {
    /// At the first frame; `None` if that begins before the part.
    pub(super) fn new(from: u64, begin: u64, each: u64) -> Option<Self> {
        let at = usize::try_from(begin.checked_sub(from)?).ok()?;
        let stop = Stop::Partial { frame_bytes: None };
        let (found, places, offsets) = (Vec::new(), Vec::new(), Vec::new());
        Some(Self { from, begin, at, stop, found, places, offsets, each })
    }

    /// Over the frames that are whole in the first bytes of a part of `len`, of which the last call knew fewer.
    pub(super) fn go_on(&mut self, bytes: &[u8], len: usize, verify: bool) {
        let Some(ahead) = bytes.get(self.at..) else { return };
        self.found.clear();
        let likely = ahead.len() / usize::try_from(self.each).unwrap_or(usize::MAX) + 2;
        self.found.reserve(likely);
        let scan = scan_frames(ahead, self.end(), verify, usize::MAX, &mut self.found);
        self.make_room(scan.consumed, len);
        for span in &self.found {
            let start = span.start + self.at;
            // A part has less than 4 GiB.
            self.places.push(StrSpan { buffer: 0, start: start as u32, len: span.len as u32 });
            self.offsets.push(self.from + (start - HEADER_BYTES) as u64);
        }
        self.at += scan.consumed;
        self.stop = scan.stop;
    }

    /// Where in the file the next frame begins.
    pub(super) fn end(&self) -> u64 {
        self.from + self.at as u64
    }

    /// Room for what was found in `bytes`, and for as much in the rest of the part.
    fn make_room(&mut self, bytes: usize, len: usize) {
        let found = self.found.len();
        if self.places.capacity() - self.places.len() < found {
            let each = (bytes / found).max(OVERHEAD_BYTES);
            // One more is for the record that the part's end cuts.
            let room = found.max(len.saturating_sub(self.at) / each + 2);
            self.places.reserve_exact(room);
            self.offsets.reserve_exact(room);
        }
    }

    /// What was found in the part, and the whole frame that its end cuts in two. `None` if that cannot be.
    pub(super) fn part(mut self, buffer: &Arc<Buffer>, cut: Option<Buffer>, last: bool) -> Option<Part> {
        let (begin, mut end) = (self.begin, self.end());
        let mut buffers = vec![Arc::clone(buffer)];
        if let Some(frame) = cut {
            let len = u32::try_from(frame.len() - OVERHEAD_BYTES).ok()?;
            self.places.push(StrSpan { buffer: 1, start: HEADER_BYTES as u32, len });
            self.offsets.push(end);
            end += frame.len() as u64;
            buffers.push(Arc::new(frame));
        }
        let n = self.places.len();
        let store = Strings::new(buffers, self.places)?;
        // Every stage counts bytes: they are summed up now, while the places are in this processor's cache.
        store.sums();
        let records = Tensor::from_spans(Shape::vector(n), Arc::new(store)).ok()?;
        Some(Part { records, begin, offsets: self.offsets, end, last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_record::frame::{footer, header};

    #[test]
    fn room_is_made_for_what_was_found_only() {
        let frame = |n: usize| [&header(n as u64)[..], &vec![7; n], &footer(&vec![7; n])].concat();
        let (small, large) = (frame(100), frame(500_000));
        // Nothing was whole in the first piece.
        let mut walk = Walk::new(0, 0, large.len() as u64).unwrap();
        walk.go_on(&large[..250_000], 8 << 20, true);
        assert_eq!((walk.places.capacity(), walk.offsets.capacity()), (0, 0));
        walk.go_on(&large, 8 << 20, true);
        assert_eq!(walk.places.len(), 1);
        assert!(walk.places.capacity() < 100);
        // What comes next is taken to be like what was found.
        let part = small.repeat(1000);
        let mut walk = Walk::new(0, 0, small.len() as u64).unwrap();
        walk.go_on(&part[..part.len() / 3], part.len(), true);
        let room = walk.places.capacity();
        assert!((1001..1100).contains(&room), "{room}");
        walk.go_on(&part, part.len(), true);
        let part =
            walk.part(&Arc::new(Buffer::from_slice(&part)), Some(Buffer::from_slice(&large)), false).unwrap();
        assert_eq!((part.offsets.len(), part.records.dims()), (1001, &[1001][..]));
        assert_eq!(part.end, (small.len() * 1000 + large.len()) as u64);
        assert_eq!(part.records.string_slices().last().unwrap().len(), 500_000);
    }
}
