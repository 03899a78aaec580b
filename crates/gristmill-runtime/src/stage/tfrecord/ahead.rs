//! Parts of a plain file, read and checked several at a time.
//!
//! Every part is one task on the reading threads. It reads its bytes at once, learns from the task before it where
//! the first frame begins, walks over its frames, and tells the next one where the last frame ends. Only that walk,
//! with the bytes in the processor's cache, happens in turn. What is not in order - damage, an end in the middle of a frame, an
//! error of the store - ends the parts before it: the plain reader goes on from there and finds the words.

use crate::env::Env;
use crate::io::{self, Reading};
use crate::stats::StageStats;
use gristmill_record::frame::{
    HEADER_BYTES, OVERHEAD_BYTES, Span, Stop, parse_header, payload_holds, scan_frames,
};
use gristmill_storage::Source;
use gristmill_types::{Buffer, StrSpan};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Bytes of files that this is for.
const WORTH: u64 = 2 << 20;
/// Bytes of a part's buffer at least: what was read is walked over while it is in the processor's cache. And at most.
const LEAST: u64 = 256 << 10;
const MOST: u64 = 8 << 20;
/// A wait that tells of a slow drive: what lies in the page cache is there sooner, and more of it under way would only
/// leave the processor's cache.
const SLOW: Duration = Duration::from_millis(2);
/// Parts under way at most.
const DEEPEST: usize = 16;

/// Whole records, as they lie in a part of a file.
pub(super) struct Part {
    /// The part, and the record that its end cuts in two.
    pub(super) buffers: Vec<Arc<Buffer>>,
    /// The payloads.
    pub(super) places: Vec<StrSpan>,
    /// Where their frames begin in the file.
    pub(super) offsets: Vec<u64>,
    /// Where the frame behind them begins.
    pub(super) end: u64,
    /// Whether the plain reader goes on behind them.
    last: bool,
}

/// Where the first frame of a part begins.
enum Begin {
    At(u64),
    /// The part before tells; it never does if it is the last.
    Told(Receiver<u64>),
}

/// What all parts of a file share.
struct File {
    source: Box<dyn Source>,
    size: u64,
    verify: bool,
    stats: Arc<StageStats>,
    /// Bytes from one part to the next. A part's buffer has room for one header more, so that no frame that
    /// begins in it has a cut header.
    stride: u64,
}

/// See the module.
pub(super) struct Ahead {
    file: Arc<File>,
    /// First byte of the next part to be asked for.
    next: u64,
    begin: Option<Begin>,
    parts: VecDeque<Reading<Option<Part>>>,
    /// Parts kept under way: more whenever the reader had to wait for long.
    depth: usize,
    /// Memory that a part may take: its own and that of the record which its end cuts in two.
    part_bytes: u64,
    /// Memory of the parts under way of all files of the pass, and how much it may be.
    under_way: Arc<AtomicU64>,
    budget: u64,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl Ahead {
    /// Reads ahead from `offset`, where a frame begins, or gives the source back where that does not pay: in short
    /// files, in front of damage, where single records are large, and beyond the budget.
    pub(super) fn open(
        source: Box<dyn Source>,
        offset: u64,
        verify: bool,
        env: &Env,
        stats: &Arc<StageStats>,
    ) -> Result<Self, Box<dyn Source>> {
        let size = source.size();
        if size.saturating_sub(offset) < WORTH {
            return Err(source);
        }
        let mut header = [0; HEADER_BYTES];
        let whole = read_whole(&*source, offset, &mut header).is_some();
        let Some(first) = parse_header(&header, offset).ok().filter(|_| whole) else { return Err(source) };
        let bytes = first.saturating_mul(4).max(LEAST).checked_next_power_of_two().unwrap_or(MOST).min(MOST);
        let (under_way, budget) = (Arc::clone(&env.shared.under_way), env.budget() / 4);
        if first > MOST / 2 || under_way.load(Relaxed) + 2 * bytes > budget {
            return Err(source);
        }
        let stride = bytes - HEADER_BYTES as u64;
        let file = File { source, size, verify, stats: Arc::clone(stats), stride };
        Ok(Self {
            file: Arc::new(file),
            next: offset,
            begin: Some(Begin::At(offset)),
            parts: VecDeque::new(),
            depth: 2,
            part_bytes: 2 * bytes,
            under_way,
            budget,
        })
    }

    /// Asks for parts as far as depth and budget go; for one in any case.
    fn ask(&mut self) {
        while self.parts.len() < self.depth && self.next < self.file.size {
            let room = self.under_way.load(Relaxed) + self.part_bytes <= self.budget;
            if !room && !self.parts.is_empty() {
                break;
            }
            let Some(begin) = self.begin.take() else { break };
            let (give, told) = channel();
            let (file, from) = (Arc::clone(&self.file), self.next);
            self.under_way.fetch_add(self.part_bytes, Relaxed);
            self.parts.push_back(io::submit(move || file.part(from, begin, give)));
            self.begin = Some(Begin::Told(told));
            self.next += self.file.stride;
        }
    }

    /// Lets go of the parts under way.
    fn give_up(&mut self) {
        self.under_way.fetch_sub(self.part_bytes * self.parts.len() as u64, Relaxed);
        self.parts.clear();
    }

    /// The next records; `None` where the plain reader has to go on.
    pub(super) fn next(&mut self) -> Option<Part> {
        loop {
            self.ask();
            let part = self.parts.pop_front()?;
            self.under_way.fetch_sub(self.part_bytes, Relaxed);
            let ready = usize::from(part.is_done()) + self.parts.iter().filter(|p| p.is_done()).count();
            self.file.stats.ahead(ready, self.depth);
            if ready > self.parts.len() {
                // All of them lay ready: fewer stay in the processor's cache.
                self.depth = (self.depth - 1).max(2);
            }
            let start = Instant::now();
            // A task that panicked is as good as an unreadable part: the plain reader reports what there is.
            let part = part.wait().ok().flatten()?;
            if start.elapsed() > SLOW {
                self.depth = (self.depth * 2).min(DEEPEST);
            }
            if part.last {
                self.give_up();
                self.next = self.file.size;
            }
            if !part.places.is_empty() {
                return Some(part);
            }
        }
    }
}

/// Fills `into` from `offset` on; `None` if that fails or the file ends before.
fn read_whole(source: &dyn Source, mut offset: u64, mut into: &mut [u8]) -> Option<()> {
    while !into.is_empty() {
        match source.read_at(offset, into) {
            Ok(0) => return None,
            Ok(n) => {
                into = &mut into[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(())
}

impl File {
    /// The part that begins at byte `from`.
    fn part(&self, from: u64, begin: Begin, give: Sender<u64>) -> Option<Part> {
        let limit = from + self.stride;
        let len = usize::try_from((self.size - from).min(self.stride + HEADER_BYTES as u64)).ok()?;
        let buffer = self.working(|| {
            let mut buffer = Buffer::recycled(len);
            read_whole(&*self.source, from, buffer.as_mut_slice()).map(|()| buffer)
        })?;
        let begin = match begin {
            Begin::At(offset) => offset,
            Begin::Told(told) => told.recv().ok()?,
        };
        self.working(|| self.frames(from, limit, begin, buffer, &give))
    }

    /// Counts time and memory of work for the stage.
    fn working<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = self.stats.memory(work);
        self.stats.busy(start);
        made
    }

    /// The records of the part in `buffer`, whose first frame begins at `begin`.
    fn frames(&self, from: u64, limit: u64, begin: u64, buffer: Buffer, give: &Sender<u64>) -> Option<Part> {
        let tell = |end: u64| {
            // Nobody listens where the reader has gone, or at the end of the file.
            let _ = give.send(end);
            end
        };
        if begin >= limit {
            let (buffers, places, offsets) = (Vec::new(), Vec::new(), Vec::new());
            return Some(Part { buffers, places, offsets, end: tell(begin), last: false });
        }
        let bytes = buffer.as_slice();
        let at = usize::try_from(begin - from).ok()?;
        let mut spans = Vec::new();
        let scan = scan_frames(&bytes[at..], begin, self.verify, usize::MAX, &mut spans);
        spans.iter_mut().for_each(|s| s.start += at);
        let cut = begin + scan.consumed as u64;
        let frame = match scan.stop {
            _ if cut >= limit => None,
            Stop::Partial { frame_bytes: Some(n) } if n <= self.stride && n <= self.size - cut => Some(n),
            _ => return Some(self.collect(from, buffer, &spans, None, cut, true)),
        };
        let end = tell(cut + frame.unwrap_or(0));
        let straddler = match frame {
            None => None,
            Some(n) => {
                let mut record = Buffer::recycled(usize::try_from(n).ok()?);
                let head = &bytes[usize::try_from(cut - from).ok()?..];
                record.as_mut_slice()[..head.len()].copy_from_slice(head);
                let rest = &mut record.as_mut_slice()[head.len()..];
                match read_whole(&*self.source, cut + head.len() as u64, rest) {
                    Some(()) => Some(record),
                    None => return Some(self.collect(from, buffer, &spans, None, cut, true)),
                }
            }
        };
        Some(self.collect(from, buffer, &spans, straddler, end, false))
    }

    /// Puts the records together; the one that was read apart is checked.
    fn collect(
        &self,
        from: u64,
        buffer: Buffer,
        spans: &[Span],
        straddler: Option<Buffer>,
        end: u64,
        last: bool,
    ) -> Part {
        let mut part = Part {
            buffers: Vec::with_capacity(2),
            places: Vec::with_capacity(spans.len() + 1),
            offsets: Vec::with_capacity(spans.len() + 1),
            end,
            last,
        };
        for &span in spans {
            // Buffers have at most `MOST` bytes.
            part.places.push(StrSpan { buffer: 0, start: span.start as u32, len: span.len as u32 });
            part.offsets.push(from + (span.start - HEADER_BYTES) as u64);
        }
        part.buffers.push(Arc::new(buffer));
        if let Some(record) = straddler {
            let span = Span { start: HEADER_BYTES, len: record.len() - OVERHEAD_BYTES };
            let offset = end - record.len() as u64;
            if !self.verify || payload_holds(record.as_slice(), span) {
                part.places.push(StrSpan { buffer: 1, start: span.start as u32, len: span.len as u32 });
                part.offsets.push(offset);
                part.buffers.push(Arc::new(record));
            } else {
                (part.end, part.last) = (offset, true);
            }
        }
        part
    }
}
