//! Parts of a plain file, read and checked several at a time.
//!
//! Every part is one task on the reading threads that depends on no other: it reads its bytes, looks for the first
//! header among them, and walks over the frames from there while the bytes are in the processor's cache. Whoever takes
//! the parts in turn knows where the first frame really begins; where that is elsewhere (records may hold headers), the
//! walk is done again. What is not in order - damage, an end in the middle of a frame, an error of the store - ends the
//! parts before it: the plain reader goes on from there and finds the words.

use super::part::{Part, Walk};
use crate::env::Env;
use crate::io::{self, Reading, Reads, Threads};
use crate::stats::StageStats;
use crate::sys;
use gristmill_record::frame::{
    HEADER_BYTES, OVERHEAD_BYTES, Span, Stop, find_header, parse_header, payload_holds,
};
use gristmill_storage::Source;
use gristmill_types::Buffer;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Bytes of files that this is for.
const WORTH: u64 = 2 << 20;
/// Bytes of a part's buffer at least: each part wakes a thread or two. And at most.
const LEAST: u64 = 1 << 20;
const MOST: u64 = 8 << 20;
/// Records that fit into a part at least, unless they are large, and half as many where memory is short: one in as many
/// is cut and read apart.
const RECORDS: u64 = 32;
/// Bytes that are read before they are walked over: few enough to be in the processor's cache still.
const PIECE: usize = 256 << 10;
/// A wait that tells of a slow drive, if the thread that read was asleep meanwhile and the bytes were not in the page
/// cache: what lies there is had at once, and more of it under way would only leave the processor's cache.
const SLOW: Duration = Duration::from_millis(2);
/// Runs of zeros that are looked at for a header: beyond that the walk from the known end costs less.
const RUNS: usize = 4096;
/// Parts under way: at least, and at most.
const SHALLOW: usize = 3;
const DEEPEST: usize = 16;

/// The bytes of a part, and the records that it has if its first frame is the one found there.
struct Guess {
    /// First byte, and the one behind the last that a frame of the part may begin at.
    from: u64,
    limit: u64,
    buffer: Arc<Buffer>,
    part: Option<Part>,
    /// Whether reading the bytes took long because of the drive.
    slow: bool,
}

/// What all parts of a file share.
struct File {
    source: Box<dyn Source>,
    size: u64,
    verify: bool,
    stats: Arc<StageStats>,
    /// Where the first frame of all begins, and its bytes: often all records have one size.
    origin: u64,
    each: u64,
    /// Bytes from one part to the next, but for the first. A part's buffer has room for one header more, so that no
    /// frame that begins in it has a cut header.
    stride: u64,
    /// Bytes that a cut record may have.
    most: u64,
}

/// See the module.
pub(super) struct Ahead {
    file: Arc<File>,
    /// First byte of the next part to be asked for.
    next: u64,
    /// Where the frame behind the records given so far begins.
    end: u64,
    /// Whether the plain reader goes on before the end of the file.
    cut_short: bool,
    parts: VecDeque<Reading<Option<Guess>>>,
    /// Parts kept under way: more whenever the reader had to wait for long.
    depth: usize,
    /// Memory that a part may take: its own and that of the record which its end cuts in two.
    part_bytes: u64,
    room: Room,
}

/// Memory of the parts under way of all files of a pass, and how much it may be.
#[derive(Clone)]
pub(super) struct Room {
    reads: Arc<Reads>,
    budget: u64,
}

impl Room {
    pub(super) fn of(env: &Env) -> Self {
        Self { reads: Arc::clone(&env.shared.reads), budget: env.budget() / 4 }
    }

    fn has(&self, bytes: u64) -> bool {
        self.reads.under_way.load(Relaxed) + bytes <= self.budget
    }
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
        room: Room,
        stats: &Arc<StageStats>,
    ) -> Result<Self, Box<dyn Source>> {
        let size = source.size();
        if size.saturating_sub(offset) < WORTH {
            return Err(source);
        }
        let mut header = [0; HEADER_BYTES];
        let whole = read_whole(&*source, offset, &mut header).is_some();
        let Some(first) = parse_header(&header, offset).ok().filter(|_| whole) else { return Err(source) };
        let bytes = |records| {
            let least = first.saturating_mul(records).max(LEAST);
            least.checked_next_power_of_two().unwrap_or(MOST).min(MOST)
        };
        let fits = |bytes: &u64| first <= MOST / 2 && room.has(2 * bytes);
        // Half of them where memory is short.
        let Some(bytes) = [RECORDS, RECORDS / 2].map(bytes).into_iter().find(fits) else {
            return Err(source);
        };
        let each = first + OVERHEAD_BYTES as u64;
        let room_for = bytes - HEADER_BYTES as u64;
        // Where all records have one size no part cuts one: what is cut is read twice.
        let stride = room_for - room_for % each;
        let file = File {
            source,
            size,
            verify,
            stats: Arc::clone(stats),
            origin: offset,
            each,
            stride,
            most: bytes,
        };
        let mut ahead = Self {
            file: Arc::new(file),
            next: offset,
            end: offset,
            cut_short: false,
            parts: VecDeque::new(),
            depth: SHALLOW,
            part_bytes: 2 * bytes,
            room,
        };
        ahead.ask();
        Ok(ahead)
    }

    /// Whether the last part of the file has been asked for.
    pub(super) fn asked_for_all(&self) -> bool {
        self.next >= self.file.size && !self.cut_short
    }

    /// Whether the records given so far are all that the file has.
    pub(super) fn is_at_end(&self) -> bool {
        self.end == self.file.size && matches!(self.file.source.read_at(self.end, &mut [0]), Ok(0))
    }

    /// Asks for parts as far as depth and budget go; for one in any case.
    fn ask(&mut self) {
        while self.parts.len() < self.depth && self.next < self.file.size {
            if !self.room.has(self.part_bytes) && !self.parts.is_empty() {
                break;
            }
            let (file, from) = (Arc::clone(&self.file), self.next);
            let limit = from + file.stride_at(from);
            // The first part begins with a frame.
            let begin = (from == self.end).then_some(from);
            self.room.reads.under_way.fetch_add(self.part_bytes, Relaxed);
            // The first parts of a file know only from other files what the drive is like.
            let waits = self.depth > SHALLOW || self.room.reads.slow.load(Relaxed);
            let threads = if waits { Threads::waiting() } else { Threads::computing() };
            self.parts.push_back(io::submit(threads, move || file.guess(from, limit, begin)));
            self.next = limit;
        }
    }

    /// Lets go of the parts under way.
    fn give_up(&mut self) {
        self.room.reads.under_way.fetch_sub(self.part_bytes * self.parts.len() as u64, Relaxed);
        self.parts.clear();
    }

    /// The next records; `None` where the plain reader has to go on.
    pub(super) fn next(&mut self) -> Option<Part> {
        loop {
            self.ask();
            let part = self.parts.pop_front()?;
            self.room.reads.under_way.fetch_sub(self.part_bytes, Relaxed);
            let ready = usize::from(part.is_done()) + self.parts.iter().filter(|p| p.is_done()).count();
            self.file.stats.ahead(ready, self.depth);
            if ready > self.parts.len() {
                // All of them lay ready: fewer stay in the processor's cache.
                self.depth = (self.depth - 1).max(SHALLOW);
            }
            // A task that panicked is as good as an unreadable part: the plain reader reports what there is.
            let guess = part.wait().ok().flatten()?;
            self.room.reads.slow.store(guess.slow, Relaxed);
            if guess.slow && ready == 0 {
                self.depth = (self.depth * 2).min(DEEPEST);
            }
            let resolved = catch_unwind(AssertUnwindSafe(|| self.file.resolve(guess, self.end)));
            let part = resolved.ok().flatten()?;
            self.end = part.end;
            if part.last {
                self.give_up();
                (self.next, self.cut_short) = (self.file.size, true);
            }
            if !part.offsets.is_empty() {
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
    /// Bytes of the part that begins at byte `from`: the first few are short, so that what comes first comes soon.
    fn stride_at(&self, from: u64) -> u64 {
        if from - self.origin < self.stride {
            (self.stride / self.each / 4).max(1) * self.each
        } else {
            self.stride
        }
    }

    /// The part that begins at byte `from`, as far as it can tell itself.
    fn guess(&self, from: u64, limit: u64, begin: Option<u64>) -> Option<Guess> {
        let len = usize::try_from(self.size.min(limit + HEADER_BYTES as u64) - from).ok()?;
        self.working(|| {
            let mut buffer = Buffer::recycled(len);
            let mut walk = begin.and_then(|begin| Walk::new(from, begin, self.each));
            let mut filled = 0;
            // What is in memory already is walked over piece by piece, while it is in the processor's cache.
            while filled < len {
                let piece = &mut buffer.as_mut_slice()[filled..len.min(filled + PIECE)];
                let n = self.source.read_cached(from + filled as u64, piece);
                if n == 0 {
                    break;
                }
                filled += n;
                let bytes = &buffer.as_slice()[..filled];
                walk = walk.or_else(|| self.walk(from, bytes, filled == n));
                if let Some(walk) = &mut walk {
                    walk.go_on(bytes, len, self.verify);
                }
            }
            let slow = self.rest(from + filled as u64, &mut buffer.as_mut_slice()[filled..])?;
            let walk = walk.or_else(|| self.walk(from, buffer.as_slice(), true));
            let buffer = Arc::new(buffer);
            let part = walk.and_then(|walk| self.part(walk, limit, &buffer));
            Some(Guess { from, limit, buffer, part, slow })
        })
    }

    /// Reads what was not in memory; says whether that took long because of the drive.
    fn rest(&self, offset: u64, into: &mut [u8]) -> Option<bool> {
        let waits = !into.is_empty();
        let (start, sleeps) = (Instant::now(), sys::sleeps());
        read_whole(&*self.source, offset, into)?;
        Some(waits && start.elapsed() > SLOW && sys::sleeps() > sleeps)
    }

    /// The walk from where a frame seems to begin in the first bytes of a part: with the part, as where all records
    /// have one size, or elsewhere if they are to be searched.
    fn walk(&self, from: u64, bytes: &[u8], search: bool) -> Option<Walk> {
        let is_header = bytes.first_chunk().is_some_and(|header| parse_header(header, 0).is_ok());
        let at = if is_header { 0 } else { search.then(|| find_header(bytes, RUNS))?? };
        Walk::new(from, from + at as u64, self.each)
    }

    /// The part whose first frame begins at `begin`.
    fn resolve(&self, guess: Guess, begin: u64) -> Option<Part> {
        let Guess { from, limit, buffer, part, .. } = guess;
        part.filter(|part| part.begin == begin)
            .or_else(|| self.working(|| self.part(Walk::new(from, begin, self.each)?, limit, &buffer)))
    }

    /// Counts time and memory of work for the stage.
    fn working<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = self.stats.memory(work);
        self.stats.busy(start);
        made
    }

    /// The records of the part in `buffer`, all of which was read, whose frames begin before `limit`.
    fn part(&self, mut walk: Walk, limit: u64, buffer: &Arc<Buffer>) -> Option<Part> {
        if walk.begin >= limit {
            return walk.part(buffer, None, false);
        }
        walk.go_on(buffer.as_slice(), buffer.len(), self.verify);
        let end = walk.end();
        match walk.stop {
            _ if end >= limit => walk.part(buffer, None, false),
            Stop::Partial { frame_bytes: Some(n) } if n <= self.most && n <= self.size - end => {
                let cut = self.cut_record(&buffer.as_slice()[walk.at..], end, usize::try_from(n).ok()?);
                let last = cut.is_none();
                walk.part(buffer, cut, last)
            }
            _ => walk.part(buffer, None, true),
        }
    }

    /// The frame of `n` bytes at `offset` that begins with `head` and goes on behind the part, if it is intact.
    fn cut_record(&self, head: &[u8], offset: u64, n: usize) -> Option<Buffer> {
        let mut record = Buffer::recycled(n);
        let (first, rest) = record.as_mut_slice().split_at_mut(head.len());
        first.copy_from_slice(head);
        read_whole(&*self.source, offset + head.len() as u64, rest)?;
        let span = Span { start: HEADER_BYTES, len: n - OVERHEAD_BYTES };
        (!self.verify || payload_holds(record.as_slice(), span)).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_record::frame::{footer, header};
    use std::io::{self, Cursor, Read, Seek, SeekFrom};

    /// A file on a drive that takes its time, or in memory.
    struct Drive {
        file: Cursor<Vec<u8>>,
        slow: bool,
    }

    impl Read for Drive {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.file.read(into)
        }
    }

    impl Seek for Drive {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    impl Source for Drive {
        fn size(&self) -> u64 {
            self.file.get_ref().len() as u64
        }

        fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
            if self.slow {
                std::thread::sleep(2 * SLOW);
            }
            (&self.file.get_ref()[usize::try_from(offset).unwrap()..]).read(into)
        }

        fn read_cached(&self, offset: u64, into: &mut [u8]) -> usize {
            if self.slow { 0 } else { self.read_at(offset, into).unwrap() }
        }
    }

    #[test]
    fn what_a_drive_is_like_is_known_to_the_next_file() {
        let payload = vec![7; 100_000];
        let frame = [&header(100_000)[..], &payload, &footer(&payload)].concat();
        let room = Room { reads: Arc::default(), budget: 1 << 30 };
        for slow in [true, false, true] {
            let drive = Drive { file: Cursor::new(frame.repeat(60)), slow };
            let stats = Arc::new(StageStats::new("records"));
            let mut ahead = Ahead::open(Box::new(drive), 0, true, room.clone(), &stats).ok().unwrap();
            let records: usize = std::iter::from_fn(|| ahead.next()).map(|part| part.offsets.len()).sum();
            assert_eq!((records, ahead.is_at_end()), (60, true));
            assert_eq!(room.reads.slow.load(Relaxed), slow);
        }
    }
    #[test]
    fn parts_are_half_as_long_where_memory_is_short() {
        let payload = vec![7; 100_000];
        let frame = [&header(100_000)[..], &payload, &footer(&payload)].concat();
        for (budget, part) in [(8 << 20, Some(8 << 20)), (6 << 20, Some(4 << 20)), (3 << 20, None)] {
            let drive = Drive { file: Cursor::new(frame.repeat(60)), slow: false };
            let stats = Arc::new(StageStats::new("records"));
            let room = Room { reads: Arc::default(), budget };
            let ahead = Ahead::open(Box::new(drive), 0, true, room, &stats);
            assert_eq!(ahead.ok().map(|ahead| ahead.part_bytes), part, "{budget}");
        }
    }
}
