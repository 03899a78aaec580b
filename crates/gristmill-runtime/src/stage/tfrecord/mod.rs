//! `TFRecordDataset`: the records of files, as slices of the buffers that they were read into.

mod ahead;
mod open;
mod part;

use self::ahead::Ahead;
use self::open::{Opened, Opener};
use self::part::Part;
use super::Stage;
use crate::env::Env;
use crate::io::Reading;
use crate::state::{StateReader, StateWriter};
use crate::stats::{StageStats, accounted};
use gristmill_plan::dataset::{Compression, TfRecord};
use gristmill_record::frame::Span;
use gristmill_record::reader::{CHUNK_BYTES, ChunkInfo, EndInfo, Filled, ReaderOptions, RecordReader};
use gristmill_storage::Source;
use gristmill_types::{
    Block, Buffer, Bytes, Column, Error, Frame, Ids, Key, Result, Shape, StrSpan, Strings, Tensor,
};
use std::io::{Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// How a file is read.
enum Reader {
    /// From its beginning to its end, whatever it is.
    Plain(RecordReader<Box<dyn Source>>),
    /// Several parts at a time, as long as all is in order.
    Ahead(Ahead),
}

/// The file that is being read.
struct Open {
    reader: Reader,
    name: Arc<str>,
}

/// Records read and not yet given.
struct Chunk {
    /// All records of the chunk, sharing the buffers that they were read into.
    records: Tensor,
    /// Where their frames begin in the file, and where the one behind them does.
    offsets: Arc<Vec<u64>>,
    end: u64,
    first_index: u64,
    used: usize,
}

impl Chunk {
    fn of_part(part: Part, first_index: u64) -> Self {
        let Part { records, offsets, end, .. } = part;
        Self { records, offsets: Arc::new(offsets), end, first_index, used: 0 }
    }
}

/// See the module.
pub(crate) struct TfRecordStage {
    files: Vec<Bytes>,
    opener: Opener,
    file: usize,
    open: Option<Open>,
    /// The file behind it, once the last bytes of this one are on their way.
    upcoming: Option<Reading<Result<Opened>>>,
    chunk: Option<Chunk>,
    /// Position of the next record in the current file.
    index: u64,
    offset: u64,
    /// Records given since the start of the pass.
    ordinal: u64,
    root: Key,
    env: Env,
    stats: Arc<StageStats>,
}

impl TfRecordStage {
    pub(crate) fn new(op: &TfRecord, env: &Env) -> Result<Self> {
        let stats = env.stats("TFRecordDataset");
        Ok(Self {
            files: op.files.value()?.tensor()?.as_strings().to_vec(),
            opener: Opener::new(op, env, &stats),
            file: 0,
            open: None,
            upcoming: None,
            chunk: None,
            index: 0,
            offset: 0,
            ordinal: 0,
            root: env.source_root(),
            stats,
            env: env.clone(),
        })
    }

    fn name(&self) -> Arc<str> {
        self.files.get(self.file).map_or_else(|| "".into(), |f| String::from_utf8_lossy(f).into())
    }

    /// Opens the current file at the current position.
    fn open(&mut self) -> Result<()> {
        // What was opened before its turn counts only if it is being read since: by now the file may be there, or whole.
        let early = self.upcoming.take().map(Reading::wait);
        let opened = match early {
            Some(Ok(Ok(opened @ Opened::Ahead(_)))) => opened,
            _ => self.opener.open(&self.files[self.file], self.offset)?,
        };
        let reader = match opened {
            Opened::Ahead(ahead) => Reader::Ahead(ahead),
            Opened::Plain(source) => Reader::Plain(self.plain(source)?),
        };
        self.open = Some(Open { reader, name: self.name() });
        Ok(())
    }

    fn options(&self, source: &dyn Source) -> ReaderOptions {
        ReaderOptions {
            compression: match self.opener.compression {
                Compression::Detect => None,
                Compression::None => Some(gristmill_record::codec::Compression::None),
                Compression::Gzip => Some(gristmill_record::codec::Compression::Gzip),
                Compression::Zlib => Some(gristmill_record::codec::Compression::Zlib),
            },
            verify: self.opener.verify,
            size: Some(source.size()),
        }
    }

    /// The current file from the current position on, whatever it is.
    fn plain(&self, source: Box<dyn Source>) -> Result<RecordReader<Box<dyn Source>>> {
        let wrong = |e: gristmill_record::error::ReadError| Error::from(e).in_file(&*self.name());
        let options = self.options(&*source);
        let mut reader = RecordReader::open(source, &options).map_err(wrong)?;
        if self.index == 0 {
            return Ok(reader);
        }
        if reader.compression() == gristmill_record::codec::Compression::None {
            return self.resumed();
        }
        reader.skip_records(self.index).map_err(wrong)?;
        Ok(reader)
    }

    /// The current file, which is not compressed, from the current position on.
    fn resumed(&self) -> Result<RecordReader<Box<dyn Source>>> {
        let mut source = self.opener.source(&self.files[self.file])?;
        source
            .seek(SeekFrom::Start(self.offset))
            .map_err(|e| Error::from(gristmill_record::error::ReadError::from(e)).in_file(&*self.name()))?;
        let options = self.options(&*source);
        Ok(RecordReader::resume(source, self.offset, self.index, &options))
    }

    /// Goes on with the plain reader where reading ahead has ended.
    fn go_on_plain(&mut self) -> Result<()> {
        self.open = Some(Open { reader: Reader::Plain(self.resumed()?), name: self.name() });
        Ok(())
    }

    fn next_file(&mut self) {
        self.file += 1;
        self.open = None;
        (self.index, self.offset) = (0, 0);
    }

    fn found(&mut self, chunk: Chunk) {
        self.stats.bytes_in.fetch_add(chunk.end - chunk.offsets.first().unwrap_or(&chunk.end), Relaxed);
        self.chunk = Some(chunk);
    }

    /// Reads the next records; `None` at the end of the last file.
    fn read(&mut self) -> Option<Result<()>> {
        while self.file < self.files.len() && !self.env.shared.is_cancelled() {
            if self.open.is_none()
                && let Err(e) = self.open()
            {
                self.next_file();
                return Some(Err(e));
            }
            let start = Instant::now();
            let reader = match &mut self.open.as_mut()?.reader {
                Reader::Plain(reader) => reader,
                Reader::Ahead(ahead) => {
                    let before = accounted();
                    let part = ahead.next();
                    if ahead.asked_for_all() && self.upcoming.is_none() {
                        self.upcoming = self.files.get(self.file + 1).map(|next| self.opener.begin(next));
                    }
                    self.stats.wait_beside(start, before);
                    let at_end = part.is_none() && ahead.is_at_end();
                    if let Some(part) = part {
                        self.found(Chunk::of_part(part, self.index));
                        return Some(Ok(()));
                    }
                    if at_end {
                        self.next_file();
                        continue;
                    }
                    if let Err(e) = self.go_on_plain() {
                        self.next_file();
                        return Some(Err(e));
                    }
                    continue;
                }
            };
            let read = self.stats.memory(|| fill(reader));
            self.stats.busy(start);
            match read {
                Ok(Step::Chunk(chunk)) => {
                    self.found(chunk);
                    return Some(Ok(()));
                }
                Ok(Step::End(end)) => {
                    if end.tail_bytes > 0 {
                        self.env.shared.warn(format!(
                            "{}: {} bytes after the last record are too few for another and were passed over; \
                             the file may have been cut short",
                            self.name(),
                            end.tail_bytes
                        ));
                    }
                    self.next_file();
                }
                Err(e) => {
                    let (name, index) = (self.name(), self.index);
                    let offset = e.frame().map_or(self.offset, gristmill_record::error::FrameError::offset);
                    self.next_file();
                    return Some(Err(Error::from(e).frame(Frame::Record { index, offset }).in_file(&*name)));
                }
            }
        }
        None
    }
}

enum Step {
    Chunk(Chunk),
    End(EndInfo),
}

fn fill(reader: &mut RecordReader<Box<dyn Source>>) -> Result<Step, gristmill_record::error::ReadError> {
    let mut size = CHUNK_BYTES;
    loop {
        let mut buffer = Buffer::recycled(size);
        let mut spans = Vec::new();
        match reader.fill(buffer.as_mut_slice(), usize::MAX, &mut spans)? {
            Filled::Records(info) => return Ok(Step::Chunk(chunk(buffer, spans, info))),
            Filled::NeedCapacity(n) => size = n.max(size + 1),
            Filled::End(end) => return Ok(Step::End(end)),
        }
    }
}

fn chunk(mut buffer: Buffer, spans: Vec<Span>, info: ChunkInfo) -> Chunk {
    buffer.truncate(info.bytes);
    let offsets = Arc::new(spans.iter().map(|&s| info.frame_offset(s)).collect());
    let end = info.offset + info.bytes as u64;
    let buffer = Arc::new(buffer);
    // A chunk of more than 4 GiB (one such record) cannot be told by positions of 32 bits.
    let places: Option<Vec<StrSpan>> = spans
        .iter()
        .map(|s| Some(StrSpan { buffer: 0, start: s.start.try_into().ok()?, len: s.len.try_into().ok()? }))
        .collect();
    let records = places
        .and_then(|places| Strings::new(vec![Arc::clone(&buffer)], places))
        .and_then(|store| Tensor::from_spans(Shape::vector(spans.len()), Arc::new(store)).ok())
        .unwrap_or_else(|| {
            let items = spans.iter().map(|s| Bytes::slice_of(&buffer, s.start, s.len));
            Tensor::string_vector(items.collect())
        });
    Chunk { records, offsets, end, first_index: info.first_index, used: 0 }
}

impl Stage for TfRecordStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        while self.chunk.is_none() {
            if let Err(e) = self.read()? {
                let block = Block::error(e);
                self.stats.block(&block);
                return Some(block);
            }
        }
        let chunk = self.chunk.as_mut()?;
        let (at, n) = (chunk.used, want.min(chunk.offsets.len() - chunk.used));
        let records = chunk.records.rows(at, n);
        let ids = Ids::Records {
            root: self.root,
            first: self.ordinal,
            file: self.open.as_ref().map_or_else(|| "".into(), |o| Arc::clone(&o.name)),
            index: chunk.first_index + at as u64,
            offsets: Arc::clone(&chunk.offsets),
            at,
        };
        chunk.used += n;
        self.index = chunk.first_index + chunk.used as u64;
        self.offset = chunk.offsets.get(chunk.used).copied().unwrap_or(chunk.end);
        if chunk.used == chunk.offsets.len() {
            self.chunk = None;
        }
        self.ordinal += n as u64;
        let block = Block::new(n, vec![Column::Uniform(records)], ids);
        self.stats.block(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.file as u64);
        to.u64(self.index);
        to.u64(self.offset);
        to.u64(self.ordinal);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.file = from.count(self.files.len())?;
        self.index = from.u64()?;
        self.offset = from.u64()?;
        self.ordinal = from.u64()?;
        (self.open, self.chunk, self.upcoming) = (None, None, None);
        Ok(())
    }
}
