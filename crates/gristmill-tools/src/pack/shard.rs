//! One record file on its way: chunks of records come from several workers and are written in order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use gristmill_record::crc::{Running, concat};
use gristmill_record::{Compression, RecordWriter, scan_frames};
use gristmill_storage::{AtomicFile, StoreError};
use gristmill_types::{Error, Result};
use serde::{Deserialize, Serialize};

use super::report::Named;

/// What is counted while a shard is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) records: u64,
    /// Records of each class, by its place in the listing.
    pub(crate) classes: BTreeMap<u32, u64>,
    pub(crate) formats: BTreeMap<String, u64>,
    pub(crate) skipped: Named,
    pub(crate) misnamed: Named,
    pub(crate) orientations: BTreeMap<u8, u64>,
    /// Size and CRC32C of the files behind the records, folded into one number each.
    pub(crate) contents: Vec<u64>,
}

fn add<K: Ord + Clone>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, n) in from {
        *to.entry(key.clone()).or_default() += n;
    }
}

impl Tally {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.records += other.records;
        add(&mut self.classes, &other.classes);
        add(&mut self.formats, &other.formats);
        self.skipped.merge(&other.skipped);
        self.misnamed.merge(&other.misnamed);
        add(&mut self.orientations, &other.orientations);
        self.contents.extend_from_slice(&other.contents);
    }
}

/// Consecutive records of one shard, framed.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Its place in the shard, from 0.
    pub(crate) number: u32,
    /// Whether it ends the shard.
    pub(crate) last: bool,
    /// Whole frames up to `end`; what is behind them means nothing.
    pub(crate) buffer: Vec<u8>,
    pub(crate) end: usize,
    /// CRC32C of the frames.
    pub(crate) crc32c: u32,
    pub(crate) tally: Tally,
    /// What it holds of the budget of bytes in flight.
    pub(crate) held: u64,
    /// Files it was made of.
    pub(crate) files: u64,
}

impl Chunk {
    fn frames(&self) -> &[u8] {
        &self.buffer[..self.end]
    }
}

/// A file that counts and sums what is written to it.
struct Summed {
    file: AtomicFile,
    sum: Running,
}

/// A file with the number and the sum of the bytes written to it.
struct Plain {
    file: AtomicFile,
    bytes: u64,
    crc32c: u32,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

enum Sink {
    /// Frames go in as they are.
    Plain(Plain),
    Compressed(Box<RecordWriter<Summed>>),
}

/// What is known of a finished shard; kept beside it until the job is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) file: String,
    pub(crate) bytes: u64,
    pub(crate) crc32c: u32,
    pub(crate) tally: Tally,
}

/// A shard being written.
pub(crate) struct ShardFile {
    name: String,
    path: std::path::PathBuf,
    sink: Sink,
}

/// The error of a failed write, with the way out of a full disk.
pub(crate) fn write_error(path: &Path, error: &io::Error) -> Error {
    store_error(StoreError::from_io(path.as_os_str(), error))
}

pub(crate) fn store_error(error: StoreError) -> Error {
    let full = error.kind == gristmill_storage::StoreErrorKind::NoSpace;
    let error = Error::from(error);
    if full {
        error.hint("free some space or pack to another disk, then run the same command again")
    } else {
        error
    }
}

impl ShardFile {
    /// Begins the file in the folder.
    pub(crate) fn create(folder: &Path, name: &str, compression: Compression) -> Result<Self> {
        let path = folder.join(name);
        let file = AtomicFile::create(path.as_os_str()).map_err(store_error)?;
        let sink = match compression {
            Compression::None => Sink::Plain(Plain { file, bytes: 0, crc32c: 0 }),
            other => Sink::Compressed(Box::new(RecordWriter::new(
                Summed { file, sum: Running::new() },
                other,
                None,
            ))),
        };
        Ok(Self { name: name.to_owned(), path, sink })
    }

    /// Writes a chunk's records.
    pub(crate) fn write(&mut self, chunk: &Chunk) -> Result<()> {
        let result = match &mut self.sink {
            Sink::Plain(plain) => {
                let n = chunk.end as u64;
                plain.crc32c = concat(plain.crc32c, chunk.crc32c, n);
                plain.bytes += n;
                plain.file.write_all(chunk.frames())
            }
            Sink::Compressed(writer) => {
                let mut spans = Vec::new();
                // They were framed by this process: no need to check them.
                scan_frames(chunk.frames(), 0, false, usize::MAX, &mut spans);
                spans.iter().try_for_each(|span| writer.write(span.of(chunk.frames())))
            }
        };
        result.map_err(|e| write_error(&self.path, &e))
    }

    /// Ends the file under its name.
    pub(crate) fn finish(self, tally: Tally, durable: bool) -> Result<Finished> {
        let path = self.path;
        let (mut file, crc32c, bytes) = match self.sink {
            Sink::Plain(plain) => (plain.file, plain.crc32c, plain.bytes),
            Sink::Compressed(writer) => {
                let summed = writer.finish().map_err(|e| write_error(&path, &e))?;
                (summed.file, summed.sum.value(), summed.sum.bytes())
            }
        };
        file.flush().map_err(|e| write_error(&path, &e))?;
        publish(file, durable)?;
        Ok(Finished { file: self.name, bytes, crc32c, tally })
    }
}

/// Gives a file its name.
pub(crate) fn publish(mut file: AtomicFile, durable: bool) -> Result<()> {
    if durable { file.commit() } else { file.publish() }.map_err(store_error)
}

/// Size and CRC32C of a file.
pub(crate) fn sum(path: &Path) -> io::Result<(u64, u32)> {
    let mut file = std::fs::File::open(path)?;
    let mut sum = Running::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok((sum.bytes(), sum.value())),
            n => sum.update(&buffer[..n]),
        }
    }
}
