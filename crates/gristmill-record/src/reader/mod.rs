//! Reading records a chunk at a time.
//!
//! The reader fills buffers that the caller owns (and recycles) with large reads and says where the
//! payloads lie; a record that a buffer's end cuts in two is carried over to the next one. Nothing is
//! allocated per record.

mod skip;
mod source;
#[cfg(test)]
mod tests;

use std::io::Read;

use crate::codec::{Compression, Detected, sniff};
use crate::error::{FrameError, ReadError};
use crate::frame::{HEADER_BYTES, Scan, Span, Stop, scan_frames};

use source::{Prefixed, Source};

/// Bytes of a chunk unless a single record needs more.
pub const CHUNK_BYTES: usize = 1 << 20;

/// How to read a file.
#[derive(Debug, Clone)]
pub struct ReaderOptions {
    /// The compression; `None` looks at the first bytes. What is given here is never overridden.
    pub compression: Option<Compression>,
    /// Whether payload checksums are checked (those of the lengths always are).
    pub verify: bool,
    /// Bytes of the file, where known. Lets a plain file's reader refuse lengths beyond the end of the
    /// file at once instead of finding the end by reading; not used for compressed files.
    pub size: Option<u64>,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { compression: None, verify: true, size: None }
    }
}

/// What a filled buffer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Ordinal of the first record in its file.
    pub first_index: u64,
    /// Position of the buffer's first byte in the (decompressed) stream; a frame begins there.
    pub offset: u64,
    /// Bytes of whole frames at the beginning of the buffer.
    pub bytes: usize,
}

impl ChunkInfo {
    /// Where the frame of a payload begins in the (decompressed) stream.
    pub fn frame_offset(&self, span: Span) -> u64 {
        self.offset + (span.start - HEADER_BYTES) as u64
    }
}

/// How a file ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndInfo {
    /// Ordinal that a further record would have had.
    pub records: u64,
    /// Bytes after the last record, fewer than a header has. TensorFlow passes over them in silence;
    /// callers should warn once when it is not 0.
    pub tail_bytes: usize,
    /// Whether the compressed data end before their trailer.
    pub cut_short: bool,
}

/// The result of [`RecordReader::fill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// At least one record.
    Records(ChunkInfo),
    /// The next record does not fit: call again with a buffer of at least this many bytes. The number
    /// is the record's real size when the file's size is known, else a bounded step towards it, so
    /// that a forged length costs no more memory than twice the data there are.
    NeedCapacity(usize),
    /// No more records.
    End(EndInfo),
}

/// Bytes that a resynchronisation passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// First lost byte of the (decompressed) stream.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// Reads the records of one stream.
pub struct RecordReader<R> {
    source: Source<R>,
    compression: Compression,
    verify: bool,
    /// Bytes of the (plain) stream.
    size: Option<u64>,
    /// First bytes as they are in the file.
    head: Vec<u8>,
    /// Read but not given out; from `carry_at` on. A frame begins there.
    carry: Vec<u8>,
    carry_at: usize,
    /// Position of the next frame.
    offset: u64,
    index: u64,
    source_ended: bool,
    /// Found behind records that had to be given out first.
    pending: Option<ReadError>,
    /// The damage at `offset`, for `resync`.
    failure: Option<FrameError>,
    end: Option<EndInfo>,
}

impl<R: Read> RecordReader<R> {
    /// Opens a stream at its beginning and reads the first bytes to tell the compression.
    ///
    /// # Errors
    /// [`ReadError::Io`] when the source fails.
    pub fn open(source: R, options: &ReaderOptions) -> Result<Self, ReadError> {
        let source = Prefixed::open(source)?;
        let head = source.head().to_vec();
        let detect = || sniff(&head).compression().unwrap_or_default();
        let compression = options.compression.unwrap_or_else(detect);
        Ok(Self::at(source, compression, options, head, 0, 0))
    }

    /// Goes on in a plain stream at a place known from before: `source` stands at byte `offset`, where
    /// record `index` begins.
    pub fn resume(source: R, offset: u64, index: u64, options: &ReaderOptions) -> Self {
        let source = Prefixed::bare(source);
        Self::at(source, Compression::None, options, Vec::new(), offset, index)
    }

    fn at(
        source: Prefixed<R>,
        compression: Compression,
        options: &ReaderOptions,
        head: Vec<u8>,
        offset: u64,
        index: u64,
    ) -> Self {
        let plain = compression == Compression::None;
        Self {
            source: Source::new(source, compression),
            compression,
            verify: options.verify,
            size: options.size.filter(|_| plain),
            head,
            carry: Vec::new(),
            carry_at: 0,
            offset,
            index,
            source_ended: false,
            pending: None,
            failure: None,
            end: None,
        }
    }

    /// How the stream is compressed, as given or as found.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Where the next record begins, in bytes of the (decompressed) stream.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Ordinal of the next record.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// How the stream ended, once it has.
    pub fn end(&self) -> Option<EndInfo> {
        self.end
    }

    /// Fills `buffer` from its beginning with whole frames (what lies behind them is unspecified) and
    /// puts the places of at most `max_records` payloads (0 counts as 1) into `spans`, which is cleared
    /// first.
    ///
    /// Records before a damage are given out first; the error comes with the next call. After a
    /// [`ReadError::Frame`] or [`ReadError::Codec`] the stream counts as ended, unless
    /// [`RecordReader::resync`] finds a way on. After a [`ReadError::Io`] the call may be repeated.
    ///
    /// # Errors
    /// [`ReadError`]: the stream is damaged, is of another format, or cannot be read.
    pub fn fill(
        &mut self,
        buffer: &mut [u8],
        max_records: usize,
        spans: &mut Vec<Span>,
    ) -> Result<Filled, ReadError> {
        spans.clear();
        if let Some(error) = self.pending.take() {
            return Err(self.stop_at(error));
        }
        if let Some(end) = self.end {
            return Ok(Filled::End(end));
        }
        let max_records = max_records.max(1);
        let held = self.held();
        if held > 0 {
            // Scanned where they lie, so that records carried over are copied once, however few are
            // asked for at a time and however many of them are damaged.
            let visible = held.min(buffer.len());
            let carried = &self.carry[self.carry_at..self.carry_at + visible];
            let scan = scan_frames(carried, self.offset, self.verify, max_records, spans);
            if scan.consumed > 0 {
                buffer[..scan.consumed].copy_from_slice(&carried[..scan.consumed]);
                self.carry_at += scan.consumed;
                return Ok(self.give_out(scan, spans.len()));
            }
            match scan.stop {
                Stop::Bad(error) => return Err(self.damaged(error)),
                Stop::Partial { frame_bytes } if visible == buffer.len() => {
                    return self.need(frame_bytes, buffer.len());
                }
                Stop::Partial { .. } | Stop::Full => buffer[..held].copy_from_slice(carried),
            }
        }
        let mut filled = held;
        let mut failed = None;
        while filled < buffer.len() && !self.source_ended {
            match self.source.read(&mut buffer[filled..]) {
                Ok(0) => self.source_ended = true,
                Ok(n) => filled += n,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let scan = scan_frames(&buffer[..filled], self.offset, self.verify, max_records, spans);
        self.carry.clear();
        self.carry_at = 0;
        self.carry.extend_from_slice(&buffer[scan.consumed..filled]);
        if scan.consumed > 0 {
            self.pending = failed;
            return Ok(self.give_out(scan, spans.len()));
        }
        match scan.stop {
            Stop::Bad(error) => Err(self.damaged(error)),
            Stop::Partial { frame_bytes } => match failed {
                Some(error) => Err(self.stop_at(error)),
                None if self.source_ended => self.ended(frame_bytes),
                None => self.need(frame_bytes, buffer.len()),
            },
            Stop::Full => {
                unreachable!("a scan for at least one record that found none is not full")
            }
        }
    }

    /// Like [`RecordReader::fill`], into a vector that grows where a record needs it; `None` at the
    /// end ([`RecordReader::end`] says how the stream ended).
    ///
    /// # Errors
    /// As [`RecordReader::fill`].
    pub fn next_chunk(
        &mut self,
        buffer: &mut Vec<u8>,
        max_records: usize,
        spans: &mut Vec<Span>,
    ) -> Result<Option<ChunkInfo>, ReadError> {
        if buffer.len() < CHUNK_BYTES {
            buffer.resize(CHUNK_BYTES, 0);
        }
        loop {
            match self.fill(buffer, max_records, spans)? {
                Filled::Records(info) => return Ok(Some(info)),
                Filled::NeedCapacity(bytes) => buffer.resize(bytes, 0),
                Filled::End(_) => return Ok(None),
            }
        }
    }

    fn held(&self) -> usize {
        self.carry.len() - self.carry_at
    }

    fn give_out(&mut self, scan: Scan, records: usize) -> Filled {
        let info = ChunkInfo { first_index: self.index, offset: self.offset, bytes: scan.consumed };
        self.index += records as u64;
        self.offset += scan.consumed as u64;
        if let Stop::Bad(error) = scan.stop {
            self.pending = Some(ReadError::Frame(error));
        }
        Filled::Records(info)
    }

    /// The frame at `offset` needs more than a buffer of `capacity` bytes.
    fn need(&mut self, frame_bytes: Option<u64>, capacity: usize) -> Result<Filled, ReadError> {
        let Some(needed) = frame_bytes else {
            return Ok(Filled::NeedCapacity(HEADER_BYTES.max(64)));
        };
        if let Some(error) = self.beyond_the_end(needed) {
            return Err(self.damaged(error));
        }
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        let step = capacity.saturating_mul(2).max(CHUNK_BYTES);
        let bounded = self.size.is_some();
        Ok(Filled::NeedCapacity(if bounded { needed } else { needed.min(step) }))
    }

    /// Whether a frame of `needed` bytes cannot be in the file.
    fn beyond_the_end(&self, needed: u64) -> Option<FrameError> {
        let available = self.size?.saturating_sub(self.offset);
        (needed > available).then_some(FrameError::Truncated { offset: self.offset, needed, available })
    }

    /// The source has ended and the carry holds no whole frame.
    fn ended(&mut self, frame_bytes: Option<u64>) -> Result<Filled, ReadError> {
        if let Some(needed) = frame_bytes {
            let error = FrameError::Truncated { offset: self.offset, needed, available: self.held() as u64 };
            return Err(self.damaged(error));
        }
        Ok(Filled::End(self.finish(self.held())))
    }

    fn finish(&mut self, tail_bytes: usize) -> EndInfo {
        let end = EndInfo { records: self.index, tail_bytes, cut_short: self.source.cut_short() };
        self.end = Some(end);
        end
    }

    fn damaged(&mut self, error: FrameError) -> ReadError {
        self.stop_at(ReadError::Frame(error))
    }

    /// Notes that the stream is at an end because of `error`, and adds what the data look like.
    fn stop_at(&mut self, error: ReadError) -> ReadError {
        let detected = match &error {
            ReadError::Frame(frame) => {
                self.failure = Some(frame.clone());
                let at_start = matches!(frame, FrameError::BadLengthCrc { offset: 0, .. });
                at_start.then(|| sniff(&self.carry[self.carry_at..]))
            }
            ReadError::Codec(_) if self.offset == 0 && self.held() == 0 => {
                let detected = sniff(&self.head);
                Some(detected).filter(|d| d.compression() != Some(self.compression))
            }
            ReadError::Codec(_) => None,
            ReadError::WrongFormat { .. } | ReadError::Io(_) => return error,
        };
        self.finish(0);
        match detected {
            Some(detected) if detected != Detected::Unknown => {
                ReadError::WrongFormat { cause: Box::new(error), detected }
            }
            _ => error,
        }
    }
}
