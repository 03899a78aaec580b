//! Records out of files: reading, looking, changing where asked to, framing.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gristmill_image::jpeg;
use gristmill_record::crc::crc32c;
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
/// A file of this size is a chunk of its own, read straight into its place.
const LARGE_BYTES: u64 = 512 << 10;
/// A buffer for files of this size is kept however many threads there are.
const FILE_KEPT: usize = 64 << 10;
/// Room before a large file for what precedes it in its record.
const HEAD_ROOM: usize = 4096;
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
            let size = self.job.listing.size(row);
            let alone = task.rows.len() == 1 && size >= LARGE_BYTES && self.job.options.resize.is_none();
            let made = if alone {
                self.large(row, &mut chunk, only_look)
            } else {
                let mut file = std::mem::take(&mut self.file);
                let made = self.small(row, &mut file, &mut chunk, only_look);
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

    /// A record by way of the thread's own buffer.
    fn small(
        &mut self,
        row: usize,
        file: &mut Vec<u8>,
        chunk: &mut Chunk,
        only_look: bool,
    ) -> Result<(), Refused> {
        let n = self.read(row, file, 0)?;
        let contents = &file[..n];
        let facts = self.look(contents)?;
        self.add(row, contents, &facts, chunk, only_look)
    }

    /// A record whose file is read straight into its place.
    fn large(&mut self, row: usize, chunk: &mut Chunk, only_look: bool) -> Result<(), Refused> {
        let mut buffer = std::mem::take(&mut chunk.buffer);
        let n = self.read(row, &mut buffer, HEAD_ROOM)?;
        let contents = &buffer[HEAD_ROOM..HEAD_ROOM + n];
        let facts = self.look(contents)?;
        if only_look || is_changed(&facts, &self.job.options) {
            return self.add(row, contents, &facts, chunk, only_look);
        }
        let sum = content(contents);
        let size = (facts.height, facts.width);
        let index = self.restart_index(contents, size);
        let length = self.surround(row, size, n, &index);
        let before = frame::HEADER_BYTES + self.head.len();
        let Some(start) = HEAD_ROOM.checked_sub(before) else {
            return self.add(row, contents, &facts, chunk, only_look);
        };
        count(self.job, row, &facts, sum, &mut chunk.tally);
        let payload = start + frame::HEADER_BYTES;
        buffer[start..payload].copy_from_slice(&frame::header(length as u64));
        buffer[payload..HEAD_ROOM].copy_from_slice(&self.head);
        buffer.truncate(HEAD_ROOM + n);
        buffer.extend_from_slice(&self.tail);
        let footer = frame::footer(&buffer[payload..]);
        buffer.extend_from_slice(&footer);
        (chunk.buffer, chunk.start) = (buffer, start);
        Ok(())
    }

    /// Appends the record of an image that is known to be good, changed where asked to.
    fn add(
        &mut self,
        row: usize,
        contents: &[u8],
        facts: &Facts,
        chunk: &mut Chunk,
        only_look: bool,
    ) -> Result<(), Refused> {
        let options = &self.job.options;
        let sum = content(contents);
        let changed;
        let (mut image, mut height, mut width) = (contents, facts.height, facts.width);
        if is_changed(facts, options) {
            let size = Some((facts.height, facts.width));
            let _room =
                self.memory.take(working_bytes(contents, facts, options), size).map_err(Refused::Bad)?;
            (changed, height, width) = self.studio.change(contents, facts, options).map_err(Refused::Bad)?;
            image = &changed;
        }
        count(self.job, row, facts, sum, &mut chunk.tally);
        if only_look {
            return Ok(());
        }
        let index = self.restart_index(image, (height, width));
        let length = self.surround(row, (height, width), image.len(), &index);
        let out = &mut chunk.buffer;
        out.reserve(length + frame::OVERHEAD_BYTES);
        out.extend_from_slice(&frame::header(length as u64));
        let start = out.len();
        out.extend_from_slice(&self.head);
        out.extend_from_slice(image);
        out.extend_from_slice(&self.tail);
        let footer = frame::footer(&out[start..]);
        out.extend_from_slice(&footer);
        Ok(())
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

    /// Reads a file to `into[at..]`; gives its length. What else `into` holds means nothing.
    fn read(&self, row: usize, into: &mut Vec<u8>, at: usize) -> Result<usize, Refused> {
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
        if into.len() < end {
            into.resize(end, 0);
        }
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

/// Size and checksum of a file as one number, by which equal files are found.
fn content(contents: &[u8]) -> u64 {
    ((contents.len() as u64) << 32) ^ u64::from(crc32c(contents))
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
