//! Passing over records: by their headers, and over damage.

use std::io::{Read, Seek};

use super::{Lost, RecordReader};
use crate::error::{FrameError, ReadError};
use crate::frame::{FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, parse_header};

/// Bytes read at a time while walking headers.
const STEP_BYTES: usize = 64 << 10;

/// A seek costs about as much as reading this many bytes from memory.
const WORTH_A_SEEK_BYTES: u64 = 4 * STEP_BYTES as u64;

impl<R: Read> RecordReader<R> {
    /// Passes over up to `count` records by their headers (payload checksums are not looked at) and
    /// says how many there were; fewer only at the end.
    ///
    /// # Errors
    /// [`ReadError`] at a damaged header or a cut record; [`RecordReader::index`] tells how far it got.
    pub fn skip_records(&mut self, count: u64) -> Result<u64, ReadError> {
        self.skip_by(count, |reader, bytes| reader.read_past(bytes))
    }

    fn skip_by(
        &mut self,
        count: u64,
        mut go_past: impl FnMut(&mut Self, u64) -> Result<u64, ReadError>,
    ) -> Result<u64, ReadError> {
        let mut skipped = 0;
        while skipped < count {
            if let Some(error) = self.pending.take() {
                return Err(self.stop_at(error));
            }
            if self.end.is_some() || !self.hold_a_header()? {
                break;
            }
            let length = match parse_header(self.next_header(), self.offset) {
                Ok(length) => length,
                Err(error) => return Err(self.damaged(error)),
            };
            let needed = length.saturating_add(OVERHEAD_BYTES as u64);
            if let Some(error) = self.beyond_the_end(needed) {
                return Err(self.damaged(error));
            }
            let held = self.held() as u64;
            if needed <= held {
                self.carry_at += needed as usize;
            } else {
                self.carry.clear();
                self.carry_at = 0;
                let available = held + go_past(self, needed - held)?;
                if available < needed {
                    let offset = self.offset;
                    return Err(self.damaged(FrameError::Truncated { offset, needed, available }));
                }
            }
            self.offset += needed;
            self.index += 1;
            skipped += 1;
        }
        Ok(skipped)
    }

    /// After a damaged frame: moves to the next place where a header holds, so that reading goes on
    /// there, and says what was passed over. `None` when there was no damage.
    ///
    /// A frame whose payload is bad is passed over by its length; after a bad length the stream is
    /// searched byte by byte. The lost stretch counts as one record in the ordinals. Every byte is
    /// looked at once; [`crate::Salvager`] is the more thorough tool.
    ///
    /// # Errors
    /// [`ReadError::Io`], [`ReadError::Codec`] when the source fails on the way.
    pub fn resync(&mut self) -> Result<Option<Lost>, ReadError> {
        let pending = self.pending.take();
        let failure = self.failure.take();
        let failure = failure.or_else(|| pending.and_then(|error| error.frame().cloned()));
        let Some(failure) = failure else {
            return Ok(None);
        };
        self.end = None;
        let start = self.offset;
        let passed = match failure {
            FrameError::BadPayloadCrc { length, .. } => length + OVERHEAD_BYTES as u64,
            FrameError::Truncated { .. } => u64::MAX,
            FrameError::BadLengthCrc { .. } => 1,
        };
        self.offset += self.read_past(passed)?;
        self.index += 1;
        while self.hold_a_header()? {
            let left = self.size.map(|size| size.saturating_sub(self.offset));
            let bytes = &self.carry[self.carry_at..];
            let headers = bytes.windows(HEADER_BYTES).enumerate();
            let found = headers.into_iter().find_map(|(at, window)| {
                let header = window.try_into().expect("windows have that size");
                let length = parse_header(header, 0).ok()?;
                let room = left.map_or(u64::MAX, |left| left - at as u64);
                (length.saturating_add(OVERHEAD_BYTES as u64) <= room).then_some(at)
            });
            // Without a header all but the last eleven places are done with.
            let passed = found.unwrap_or(bytes.len() - (HEADER_BYTES - 1));
            self.carry_at += passed;
            self.offset += passed as u64;
            if found.is_some() {
                break;
            }
        }
        if self.end.is_some() {
            // Fewer bytes than a header has: they belong to the damage, not to a tail.
            self.offset += self.held() as u64;
            self.carry_at = self.carry.len();
            self.finish(0);
        }
        let end = self.offset;
        Ok(Some(Lost { start, end }))
    }

    fn next_header(&self) -> &[u8; HEADER_BYTES] {
        let bytes = &self.carry[self.carry_at..];
        bytes.first_chunk().expect("the caller made sure of a header")
    }

    /// Makes the carry hold a header; false at the end of the stream, which is noted.
    fn hold_a_header(&mut self) -> Result<bool, ReadError> {
        while self.held() < HEADER_BYTES && !self.source_ended {
            self.read_more()?;
        }
        if self.held() < HEADER_BYTES {
            let tail_bytes = self.held();
            self.finish(tail_bytes);
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads a step behind what the carry holds.
    fn read_more(&mut self) -> Result<(), ReadError> {
        self.carry.drain(..self.carry_at);
        self.carry_at = 0;
        let held = self.carry.len();
        self.carry.resize(held + STEP_BYTES, 0);
        let result = self.source.read(&mut self.carry[held..]);
        let n = result.as_ref().map_or(0, |&n| n);
        self.carry.truncate(held + n);
        match result {
            Ok(0) => self.source_ended = true,
            Ok(_) => {}
            Err(error) => return Err(self.stop_at(error)),
        }
        Ok(())
    }

    /// Passes over up to `bytes` by reading them; fewer only at the end.
    fn read_past(&mut self, bytes: u64) -> Result<u64, ReadError> {
        let mut passed = 0;
        loop {
            let here = (self.held() as u64).min(bytes - passed);
            self.carry_at += here as usize;
            passed += here;
            if passed == bytes || self.source_ended {
                return Ok(passed);
            }
            if let Err(error) = self.read_more() {
                // The carry begins inside a frame now: there is no going on from here.
                self.finish(0);
                return Err(error);
            }
        }
    }
}

impl<R: Read + Seek> RecordReader<R> {
    /// Like [`RecordReader::skip_records`], but goes past long payloads of a plain stream by seeking.
    /// The source's own positions must be those of the stream (byte 0 is the beginning of the file).
    ///
    /// # Errors
    /// As [`RecordReader::skip_records`].
    pub fn seek_records(&mut self, count: u64) -> Result<u64, ReadError> {
        if self.size.is_none() {
            // A seek beyond the end would succeed: the size must be known.
            self.size = self.source.size()?;
        }
        self.skip_by(count, |reader, bytes| {
            let worth_it = bytes >= WORTH_A_SEEK_BYTES + FOOTER_BYTES as u64;
            if worth_it && reader.source.seek_ahead(bytes)? {
                return Ok(bytes);
            }
            reader.read_past(bytes)
        })
    }
}
