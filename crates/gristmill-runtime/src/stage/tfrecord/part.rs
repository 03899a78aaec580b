//! The records of a part of a file.

use gristmill_record::frame::{HEADER_BYTES, OVERHEAD_BYTES, Span, Stop, scan_frames};
use gristmill_types::{Buffer, StrSpan};
use std::sync::Arc;

/// Whole records, as they lie in a part of a file.
pub(super) struct Part {
    /// The part, and the record that its end cuts in two.
    pub(super) buffers: Vec<Arc<Buffer>>,
    /// Where the first frame begins that the part may have.
    pub(super) begin: u64,
    /// The payloads.
    pub(super) places: Vec<StrSpan>,
    /// Where their frames begin in the file.
    pub(super) offsets: Vec<u64>,
    /// Where the frame behind them begins.
    pub(super) end: u64,
    /// Whether the plain reader goes on behind them.
    pub(super) last: bool,
}

impl Part {
    /// Adds the frame behind the records.
    pub(super) fn push_cut(&mut self, frame: Buffer) {
        let len = frame.len() as u64;
        self.places.push(StrSpan {
            buffer: 1,
            start: HEADER_BYTES as u32,
            len: (frame.len() - OVERHEAD_BYTES) as u32,
        });
        self.offsets.push(self.end);
        self.buffers.push(Arc::new(frame));
        self.end += len;
    }
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

    /// Over the frames that are whole in the part's first bytes, of which the last call knew fewer.
    pub(super) fn go_on(&mut self, bytes: &[u8], verify: bool) {
        let Some(ahead) = bytes.get(self.at..) else { return };
        self.found.clear();
        let likely = ahead.len() / usize::try_from(self.each).unwrap_or(usize::MAX) + 2;
        self.found.reserve(likely);
        let scan = scan_frames(ahead, self.end(), verify, usize::MAX, &mut self.found);
        self.places.reserve(self.found.len() + 1);
        self.offsets.reserve(self.found.len() + 1);
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

    /// What was found in the part.
    pub(super) fn part(self, buffer: &Arc<Buffer>, last: bool) -> Part {
        let (begin, end) = (self.begin, self.end());
        Part {
            buffers: vec![Arc::clone(buffer)],
            begin,
            places: self.places,
            offsets: self.offsets,
            end,
            last,
        }
    }
}
