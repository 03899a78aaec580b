//! Records out of files: reading, looking, changing where asked to, framing.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gristmill_image::jpeg;
use gristmill_record::crc::{concat, crc32c, extend, mask};
use gristmill_record::frame;
use gristmill_types::{Error, Kind, Result};

use super::encode::Fields;
use super::inspect::{Facts, format_of_name, inspect};
use super::job::Job;
use super::memory::Memory;
use super::report::shown;
use super::shard::{Chunk, Tally};
use super::transform::{Studio, is_changed, working_bytes};

/// Bytes of files that make a chunk of records.
const CHUNK_BYTES: u64 = 1 << 20;
/// Files that make a chunk at most, as they are and when they are encoded anew.
const CHUNK_FILES: usize = 256;
const CHUNK_CHANGED: usize = 8;
/// Bytes that a pixel of an image encoded anew takes, at high quality.
const BYTES_PER_PIXEL: u64 = 2;
/// A file of this size is a chunk of its own.
const LARGE_BYTES: u64 = 512 << 10;
/// A buffer for files of this size is kept however many threads there are.
const FILE_KEPT: usize = 64 << 10;
/// Height and width that a file is taken to have before it is read: any that take two bytes do.
const LIKELY_SIZE: usize = 500;
/// Bytes behind an image and the features that follow it which may differ from what was likely, and the footer.
const BEHIND: usize = 64;
/// Restart indexes have less than one of so many bytes of a large file.
const INDEX_SHARE: usize = 100;
/// Bytes that making a restart index takes besides a copy of the image.
const INDEX_ROOM: u64 = 512 << 10;
/// The largest file that is packed: a record is held in memory as a whole, by readers too.
const MAX_FILE_BYTES: u64 = 192 << 20;

/// Consecutive files that one thread makes a chunk of.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Which shard, among those to be made.
    pub(crate) shard: usize,
    /// Which chunk of it.
    pub(crate) number: u32,
    pub(crate) last: bool,
    /// Their part of the job's order.
    pub(crate) rows: Range<usize>,
    /// Bytes that they take in memory.
    pub(crate) held: u64,
}

/// The first files of `rows` that make a chunk; `limit` bounds what it claims to hold.
pub(crate) fn task(job: &Job, shard: usize, number: u32, rows: Range<usize>, limit: u64) -> Task {
    let changed =
        job.options.resize.map(|(width, height)| u64::from(width) * u64::from(height) * BYTES_PER_PIXEL);
    let (mut bytes, mut largest, mut end) = (0u64, 0u64, rows.start);
    let most = if changed.is_some() { CHUNK_CHANGED } else { CHUNK_FILES };
    while end < rows.end && end - rows.start < most {
        let size = job.listing.size(job.order[end] as usize);
        if changed.is_some_and(|made| end > rows.start && made * (end - rows.start + 1) as u64 > CHUNK_BYTES)
        {
            break;
        }
        if end > rows.start && (size >= LARGE_BYTES || bytes + size > CHUNK_BYTES) && changed.is_none() {
            break;
        }
        bytes = bytes.saturating_add(size);
        largest = largest.max(size);
        end += 1;
        if size >= LARGE_BYTES && changed.is_none() {
            break;
        }
    }
    let files = (end - rows.start) as u64;
    let held = match changed {
        // One file at a time, and what came out of all.
        Some(made) => largest.saturating_add(files * made),
        None => bytes,
    };
    let held = held.saturating_add(files * 512).min(limit);
    Task { shard, number, last: end == rows.end, rows: rows.start..end, held }
}

/// An image encoded anew.
struct Changed {
    image: Vec<u8>,
    height: usize,
    width: usize,
}

/// Why a file gives no record.
enum Refused {
    /// The file is at fault.
    Bad(String),
    /// The job cannot go on.
    Fatal(Error),
}

/// What one thread needs to make records.
pub(crate) struct Maker<'a> {
    job: &'a Job,
    memory: &'a Memory,
    studio: Studio,
    file: Vec<u8>,
    head: Vec<u8>,
    tail: Vec<u8>,
    kept: usize,
}

impl<'a> Maker<'a> {
    /// A maker that keeps about `kept` bytes from image to image.
    pub(crate) fn new(job: &'a Job, memory: &'a Memory, kept: usize) -> Self {
        let studio = Studio::new(kept / 2);
        Self { job, memory, studio, file: Vec::new(), head: Vec::new(), tail: Vec::new(), kept: kept / 4 }
    }

    /// Makes the records of a task in `buffer`; with `only_look` none, but the tally is kept.
    ///
    /// # Errors
    /// `FailedPrecondition` when a file changed since it was listed.
    pub(crate) fn make(
        &mut self,
        task: &Task,
        buffer: Vec<u8>,
        only_look: bool,
        stop: &AtomicBool,
    ) -> Result<Chunk> {
        let mut chunk = Chunk {
            number: task.number,
            last: task.last,
            buffer,
            files: task.rows.len() as u64,
            ..Chunk::default()
        };
        for &row in &self.job.order[task.rows.clone()] {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let row = row as usize;
            let made = if self.job.options.resize.is_none() {
                self.in_place(row, &mut chunk, only_look)
            } else {
                let mut file = std::mem::take(&mut self.file);
                let made = self.apart(row, &mut file, &mut chunk, only_look);
                if file.capacity() <= self.kept.max(FILE_KEPT) {
                    self.file = file;
                }
                made
            };
            match made {
                Ok(()) => {}
                Err(Refused::Fatal(error)) => return Err(error),
                Err(Refused::Bad(reason)) => {
                    chunk.tally.skipped.add(shown(self.job.listing.path(row)), reason);
                }
            }
        }
        Ok(chunk)
    }

    /// A record of an image encoded anew, by way of the thread's own buffer.
    fn apart(
        &mut self,
        row: usize,
        file: &mut Vec<u8>,
        chunk: &mut Chunk,
        only_look: bool,
    ) -> Result<(), Refused> {
        let n = self.read(row, file, 0, 0)?;
        let contents = &file[..n];
        let facts = self.look(contents)?;
        let anew = self.change(contents, &facts)?;
        count(self.job, row, &facts, content(n, crc32c(contents)), &mut chunk.tally);
        if !only_look {
            self.append(row, &anew, chunk);
        }
        Ok(())
    }

    /// A record whose file is read to where it most likely stands in it, and is moved if it does not.
    fn in_place(&mut self, row: usize, chunk: &mut Chunk, only_look: bool) -> Result<(), Refused> {
        let size = usize::try_from(self.job.listing.size(row)).unwrap_or(usize::MAX);
        self.surround(row, (LIKELY_SIZE, LIKELY_SIZE), size, &[]);
        let before = frame::HEADER_BYTES + self.head.len();
        let index = if self.job.options.restart_index { size / INDEX_SHARE } else { 0 };
        let behind = self.tail.len() + BEHIND + index;
        let place = chunk.end + before;
        let n = self.read(row, &mut chunk.buffer, place, behind)?;
        let contents = &chunk.buffer[place..place + n];
        let facts = self.look(contents)?;
        let sum = crc32c(contents);
        let anew =
            if is_changed(&facts, &self.job.options) { Some(self.change(contents, &facts)?) } else { None };
        count(self.job, row, &facts, content(n, sum), &mut chunk.tally);
        if only_look {
            return Ok(());
        }
        if let Some(anew) = anew {
            self.append(row, &anew, chunk);
            return Ok(());
        }
        let size = (facts.height, facts.width);
        let index = self.restart_index(contents, size);
        let length = self.surround(row, size, n, &index);
        let really = frame::HEADER_BYTES + self.head.len();
        if really != before {
            make_room(&mut chunk.buffer, chunk.end + really + n);
            chunk.buffer.copy_within(place..place + n, chunk.end + really);
        }
        self.frame(chunk, length, n, sum);
        Ok(())
    }

    /// An image changed as the options say.
    fn change(&mut self, contents: &[u8], facts: &Facts) -> Result<Changed, Refused> {
        let options = &self.job.options;
        let size = Some((facts.height, facts.width));
        let _room = self.memory.take(working_bytes(contents, facts, options), size).map_err(Refused::Bad)?;
        let (image, height, width) = self.studio.change(contents, facts, options).map_err(Refused::Bad)?;
        Ok(Changed { image, height, width })
    }

    /// Appends the record of a changed image.
    fn append(&mut self, row: usize, changed: &Changed, chunk: &mut Chunk) {
        let n = changed.image.len();
        let size = (changed.height, changed.width);
        let index = self.restart_index(&changed.image, size);
        let length = self.surround(row, size, n, &index);
        let place = chunk.end + frame::HEADER_BYTES + self.head.len();
        make_room(&mut chunk.buffer, place + n);
        chunk.buffer[place..place + n].copy_from_slice(&changed.image);
        self.frame(chunk, length, n, crc32c(&changed.image));
    }

    /// Puts the frame of a record of `length` bytes around an image of `n` bytes, which stands in its place.
    fn frame(&self, chunk: &mut Chunk, length: usize, n: usize, image: u32) {
        let Self { head, tail, .. } = self;
        let header = frame::header(length as u64);
        let payload = extend(concat(crc32c(head), image, n as u64), tail);
        let footer = mask(payload).to_le_bytes();
        make_room(&mut chunk.buffer, chunk.end + length + frame::OVERHEAD_BYTES);
        let mut put = |bytes: &[u8], skip: usize| {
            chunk.end += skip;
            chunk.buffer[chunk.end..chunk.end + bytes.len()].copy_from_slice(bytes);
            chunk.end += bytes.len();
        };
        put(&header, 0);
        put(head, 0);
        put(tail, n);
        put(&footer, 0);
        chunk.crc32c = extend(concat(extend(chunk.crc32c, &header), payload, length as u64), &footer);
    }

    /// Prepares what stands before and behind the image in its record; gives the length of the whole.
    fn surround(
        &mut self,
        row: usize,
        (height, width): (usize, usize),
        image_bytes: usize,
        restart_index: &[u8],
    ) -> usize {
        let (height, width) = (height as i64, width as i64);
        let fields = Fields { row, height, width, image_bytes, restart_index };
        self.job.schema.around(&self.job.listing, &fields, &mut self.head, &mut self.tail)
    }

    /// Where the rows of an image begin, if that is asked for. None where there is no memory for it: it only saves time.
    fn restart_index(&self, image: &[u8], size: (usize, usize)) -> Vec<u8> {
        if !self.job.options.restart_index || !jpeg::is_jpeg(image) {
            return Vec::new();
        }
        let room = self.memory.take(image.len() as u64 + INDEX_ROOM, Some(size));
        room.map_or_else(|_| Vec::new(), |_room| jpeg::restart_index_or_none(image))
    }

    fn look(&mut self, contents: &[u8]) -> Result<Facts, Refused> {
        inspect(contents, self.job.options.check, &mut self.studio.pixels, self.memory).map_err(Refused::Bad)
    }

    /// Reads a file to `into[at..]`, with room for `behind` bytes more; gives its length.
    fn read(&self, row: usize, into: &mut Vec<u8>, at: usize, behind: usize) -> Result<usize, Refused> {
        let path = self.job.listing.full_path(row);
        let size = self.job.listing.size(row);
        if size == 0 {
            return Err(self.nothing(&path));
        }
        if size > MAX_FILE_BYTES {
            return Err(Refused::Bad(format!("the file has {size} bytes, more than {MAX_FILE_BYTES}")));
        }
        let size = size as usize;
        // One byte more than there should be: a read that does not fill it has met the end.
        let end = at + size + 1;
        make_room(into, end + behind);
        let mut file = File::open(&path).map_err(|e| bad(&e))?;
        let mut n = 0;
        loop {
            match file.read(&mut into[at + n..end]) {
                Ok(0) => break,
                Ok(read) => n += read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(bad(&e)),
            }
            if n >= size {
                break;
            }
        }
        if n == size { Ok(n) } else { Err(changed(&path)) }
    }

    /// Why a file that had no bytes when it was listed is of no use.
    fn nothing(&self, path: &Path) -> Refused {
        match std::fs::metadata(path) {
            Err(e) => bad(&e),
            Ok(meta) if meta.is_dir() => Refused::Bad("Is a directory".into()),
            Ok(meta) if !meta.is_file() => Refused::Bad("neither a file nor a folder".into()),
            Ok(meta) if meta.len() > 0 => changed(path),
            Ok(_) => Refused::Bad("the file is empty".into()),
        }
    }
}

/// Makes a buffer at least so long; one for a large file no longer than that.
fn make_room(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        if len as u64 >= LARGE_BYTES + CHUNK_BYTES {
            buffer.reserve_exact(len - buffer.len());
        }
        buffer.resize(len, 0);
    }
}

/// Size and checksum of a file as one number, by which equal files are found.
fn content(size: usize, crc32c: u32) -> u64 {
    ((size as u64) << 32) ^ u64::from(crc32c)
}

/// Counts a good image.
fn count(job: &Job, row: usize, facts: &Facts, sum: u64, tally: &mut Tally) {
    tally.records += 1;
    *tally.classes.entry(job.listing.class(row) as u32).or_default() += 1;
    let format = facts.format.name();
    match tally.formats.get_mut(format) {
        Some(n) => *n += 1,
        None => drop(tally.formats.insert(format.to_owned(), 1)),
    }
    if facts.orientation != 1 {
        *tally.orientations.entry(facts.orientation).or_default() += 1;
    }
    let path = job.listing.path(row);
    if format_of_name(path).is_some_and(|promised| promised != facts.format) {
        tally.misnamed.add(shown(path), format!("it is a {format}"));
    }
    tally.contents.push(sum);
}

fn bad(error: &std::io::Error) -> Refused {
    let text = gristmill_storage::StoreError::from_io(std::ffi::OsStr::new(""), error).message;
    Refused::Bad(text)
}

fn changed(path: &Path) -> Refused {
    let path = shown(path.as_os_str().as_encoded_bytes());
    Refused::Fatal(
        Error::new(Kind::FailedPrecondition, "the file changed while it was being packed")
            .in_file(path)
            .hint("run again once the source does not change any more"),
    )
}
