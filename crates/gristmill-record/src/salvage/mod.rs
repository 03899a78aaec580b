//! Getting the intact records out of a damaged file.
//!
//! After a bad frame the next one counts whose length checksum and payload checksum both hold; what
//! lies between is reported as lost. The work is linear in the size of the data, whatever they hold:
//! payload checksums of candidates that overlap come from running checksums kept at every 64th byte.

mod prefix;
#[cfg(test)]
mod tests;
mod window;

use std::io::{self, Read};

use crate::crc;
use crate::frame::{FOOTER_BYTES, HEADER_BYTES, OVERHEAD_BYTES, find_header, parse_header};
use crate::reader::Lost;

use prefix::Prefix;
use window::Window;

/// The longest payload salvage believes in, in bytes.
pub const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Bytes searched for a header at a time.
const SEARCH_BYTES: usize = 64 << 10;

/// What salvage found next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// An intact record.
    Record {
        /// Where its frame begins, in bytes of the stream.
        offset: u64,
        /// The payload.
        payload: &'a [u8],
    },
    /// Bytes that belong to no intact record.
    Lost(Lost),
}

/// Walks through a (decompressed) stream from one intact record to the next.
///
/// Memory: one record, at most [`MAX_RECORD_BYTES`] and at most what the stream has.
pub struct Salvager<R> {
    window: Window<R>,
    prefix: Option<Prefix>,
    /// Next place to look at.
    at: u64,
    /// End of the last intact record.
    good_end: u64,
    /// A record found behind a lost stretch that had to be reported first: frame start, payload bytes.
    found: Option<(u64, usize)>,
    max_record_bytes: u64,
}

impl<'s> Salvager<&'s [u8]> {
    /// Salvages from memory.
    pub fn of_bytes(bytes: &'s [u8]) -> Self {
        Self::new(bytes)
    }
}

impl<R: Read> Salvager<R> {
    /// Salvages from a stream that stands at its beginning.
    pub fn new(source: R) -> Self {
        Self {
            window: Window::new(source),
            prefix: None,
            at: 0,
            good_end: 0,
            found: None,
            max_record_bytes: MAX_RECORD_BYTES,
        }
    }

    /// Sets the longest payload to believe in, in bytes.
    pub fn with_max_record_bytes(mut self, bytes: u64) -> Self {
        self.max_record_bytes = bytes;
        self
    }

    /// The error that the source ended with, if it did: what was read before it has been salvaged.
    pub fn source_error(&self) -> Option<&io::Error> {
        self.window.error()
    }

    /// The next intact record or lost stretch; `None` at the end. A source that fails counts as ended
    /// ([`Salvager::source_error`]).
    pub fn next_event(&mut self) -> Option<Event<'_>> {
        let found = match self.found.take() {
            Some(found) => Some(found),
            None => {
                let found = self.search();
                let next = found.map_or(self.at, |(offset, _)| offset);
                if next > self.good_end {
                    let lost = Lost { start: self.good_end, end: next };
                    self.good_end = next;
                    self.found = found;
                    return Some(Event::Lost(lost));
                }
                found
            }
        };
        let (offset, len) = found?;
        self.at = offset + (len + OVERHEAD_BYTES) as u64;
        self.good_end = self.at;
        let frame = self.window.view(offset, len + OVERHEAD_BYTES);
        Some(Event::Record { offset, payload: &frame[HEADER_BYTES..HEADER_BYTES + len] })
    }

    /// The first intact frame at or after `at`; leaves `at` there, or at the end of the stream.
    fn search(&mut self) -> Option<(u64, usize)> {
        loop {
            self.window.forget_before(self.at);
            let bytes = self.window.view(self.at, SEARCH_BYTES);
            if bytes.len() < HEADER_BYTES {
                self.at += bytes.len() as u64;
                return None;
            }
            let Some(at) = find_header(bytes, usize::MAX) else {
                self.at += (bytes.len() - (HEADER_BYTES - 1)) as u64;
                continue;
            };
            let length = bytes[at..].first_chunk().and_then(|header| parse_header(header, 0).ok());
            let length = length.filter(|&n| n <= self.max_record_bytes);
            self.at += at as u64;
            if let Some(length) = length
                && self.payload_holds(length)
            {
                // Fits: the window holds that many bytes.
                return Some((self.at, length as usize));
            }
            self.at += 1;
        }
    }

    /// Whether the payload of the header at `at` is whole and intact.
    fn payload_holds(&mut self, length: u64) -> bool {
        let Ok(len) = usize::try_from(length) else {
            return false;
        };
        let frame = self.window.view(self.at, len.saturating_add(OVERHEAD_BYTES));
        if frame.len() < len.saturating_add(OVERHEAD_BYTES) {
            return false;
        }
        let (start, end) = (self.at + HEADER_BYTES as u64, self.at + (HEADER_BYTES + len) as u64);
        let body = &frame[HEADER_BYTES..];
        let footer = &body[len..len + FOOTER_BYTES];
        let stored = u32::from_le_bytes(footer.try_into().expect("four bytes"));
        // Running checksums are kept from the first failure on until the search has left the stretch
        // they cover: so no byte is summed once for every candidate over it.
        if self.prefix.as_ref().is_some_and(|prefix| start >= prefix.end()) {
            self.prefix = None;
        }
        if let Some(prefix) = &mut self.prefix {
            prefix.extend(&self.window, end);
            return crc::mask(prefix.of_range(&self.window, start, end)) == stored;
        }
        if crc::masked_crc32c(&body[..len]) == stored {
            return true;
        }
        let mut prefix = Prefix::new(start);
        prefix.extend(&self.window, end);
        self.prefix = Some(prefix);
        false
    }
}
