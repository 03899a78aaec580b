//! Index files: one line `offset length` for each record, as the `tfrecord2idx` tools write them.
//!
//! `offset` is where the frame begins, `length` its whole size with header and checksums, both in
//! bytes.

use std::fmt::Write as _;

use crate::error::FrameError;
use crate::frame::{HEADER_BYTES, OVERHEAD_BYTES, parse_header};

/// One record of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndexEntry {
    /// Where the frame begins, in bytes from the start of the file.
    pub offset: u64,
    /// Bytes of the whole frame, payload and 16 more.
    pub length: u64,
}

impl IndexEntry {
    /// Where the payload begins, in bytes from the start of the file.
    pub fn payload_offset(&self) -> u64 {
        self.offset.saturating_add(HEADER_BYTES as u64)
    }

    /// Bytes of payload.
    pub fn payload_len(&self) -> u64 {
        self.length.saturating_sub(OVERHEAD_BYTES as u64)
    }
}

/// What is wrong with an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A line is not two numbers.
    #[error("line {line} of the index is not \"offset length\": {text:?}")]
    Syntax {
        /// Line number, from 1.
        line: usize,
        /// The beginning of the line.
        text: String,
    },
    /// A record does not begin where the one before it ends, or is shorter than an empty record.
    #[error(
        "record {record} of the index lies at byte {offset} with {length} bytes, expected at byte {expected} with at least 16 bytes"
    )]
    Layout {
        /// Record number, from 0.
        record: usize,
        /// Offset in the index.
        offset: u64,
        /// Length in the index.
        length: u64,
        /// Where the record has to begin.
        expected: u64,
    },
    /// The index ends elsewhere than the file.
    #[error(
        "the index covers {covered} bytes, the file has {size}: it belongs to another version of the file"
    )]
    Size {
        /// Bytes the index covers.
        covered: u64,
        /// Bytes of the file.
        size: u64,
    },
    /// The header found at an entry's place has another length.
    #[error("the file has a record of {found} bytes at byte {offset}, the index says {length}")]
    Length {
        /// Where the record begins.
        offset: u64,
        /// Whole frame by the file.
        found: u64,
        /// Whole frame by the index.
        length: u64,
    },
    /// There is no record where the index says one is.
    #[error("the index does not fit the file: {0}")]
    Header(#[from] FrameError),
}

/// The places of all records of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    entries: Vec<IndexEntry>,
}

impl Index {
    /// An index without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the record that follows the last one, given the bytes of its payload.
    pub fn push_payload(&mut self, payload_len: u64) {
        let length = payload_len.saturating_add(OVERHEAD_BYTES as u64);
        self.entries.push(IndexEntry { offset: self.covered(), length });
    }

    /// The records, in the order of the file.
    pub fn entries(&self) -> &[IndexEntry] {
        &self.entries
    }

    /// Bytes from the start of the file to the end of the last record.
    pub fn covered(&self) -> u64 {
        let last = self.entries.last();
        last.map_or(0, |last| last.offset.saturating_add(last.length))
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.entries.len() * 16);
        for IndexEntry { offset, length } in &self.entries {
            writeln!(text, "{offset} {length}").expect("writing to a string succeeds");
        }
        text
    }

    /// Reads the text form; blank lines are passed over.
    ///
    /// # Errors
    /// [`IndexError::Syntax`] for a line that is not two numbers, [`IndexError::Layout`] when records
    /// do not follow each other without a gap.
    pub fn parse(text: &[u8]) -> Result<Self, IndexError> {
        let mut index = Self::new();
        for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let Some((offset, length)) = parse_line(line) else {
                let shown = &line[..line.len().min(60)];
                return Err(IndexError::Syntax {
                    line: at + 1,
                    text: String::from_utf8_lossy(shown).into_owned(),
                });
            };
            let expected = index.covered();
            let whole = length >= OVERHEAD_BYTES as u64 && offset.checked_add(length).is_some();
            if offset != expected || !whole {
                return Err(IndexError::Layout { record: index.entries.len(), offset, length, expected });
            }
            index.entries.push(IndexEntry { offset, length });
        }
        Ok(index)
    }

    /// Checks that the index ends where a file of `size` bytes ends.
    ///
    /// # Errors
    /// [`IndexError::Size`] if not.
    pub fn check_size(&self, size: u64) -> Result<(), IndexError> {
        let covered = self.covered();
        if covered == size { Ok(()) } else { Err(IndexError::Size { covered, size }) }
    }

    /// Up to `count` entries spread evenly, the first and the last among them: where to look into the
    /// file before trusting an index from elsewhere.
    pub fn samples(&self, count: usize) -> Vec<IndexEntry> {
        let len = self.entries.len();
        let count = count.min(len);
        let last = count.saturating_sub(1).max(1);
        let at = |i: usize| (i as u128 * (len - 1) as u128 / last as u128) as usize;
        (0..count).map(|i| self.entries[at(i)]).collect()
    }
}

impl IndexEntry {
    /// Checks the entry against the twelve bytes at its offset in the file.
    ///
    /// # Errors
    /// [`IndexError::Header`] when they are no header, [`IndexError::Length`] when they tell another
    /// length.
    pub fn check_header(&self, header: &[u8; HEADER_BYTES]) -> Result<(), IndexError> {
        let found = parse_header(header, self.offset)?.saturating_add(OVERHEAD_BYTES as u64);
        if found == self.length {
            Ok(())
        } else {
            Err(IndexError::Length { offset: self.offset, found, length: self.length })
        }
    }
}

fn parse_line(line: &[u8]) -> Option<(u64, u64)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let pair = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some(pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::header;

    #[test]
    fn text_and_back() {
        let mut index = Index::new();
        for payload in [3, 0, 5] {
            index.push_payload(payload);
        }
        assert_eq!(index.to_text(), "0 19\n19 16\n35 21\n");
        assert_eq!(Index::parse(b"0 19\r\n19\t16\n\n35 21").unwrap(), index);
        assert_eq!((index.entries()[2].payload_offset(), index.entries()[2].payload_len()), (47, 5));
        assert!(index.check_size(56).is_ok());
        let message = index.check_size(57).unwrap_err().to_string();
        assert!(message.starts_with("the index covers 56 bytes, the file has 57"), "{message}");
    }

    #[test]
    fn bad_lines() {
        let error = |text: &str| Index::parse(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(error("0 16\nxyz"), "line 2 of the index is not \"offset length\": \"xyz\"");
        assert!(error("0 16 3").starts_with("line 1 "));
        assert!(error("0 -16").starts_with("line 1 "));
        assert!(error("0 16\n17 16").starts_with("record 1 of the index lies at byte 17"));
        assert!(error("0 15").contains("at least 16"));
        assert!(error("0 20\n20 18446744073709551615").starts_with("record 1 "));
        assert!(Index::parse(&[0xff, 0xfe]).is_err());
    }

    #[test]
    fn samples_and_headers() {
        let mut index = Index::new();
        (0..100).for_each(|i| index.push_payload(i));
        let offsets: Vec<u64> = index.samples(3).iter().map(|e| e.payload_len()).collect();
        assert_eq!(offsets, [0, 49, 99]);
        assert_eq!(index.samples(1)[0].offset, 0);
        assert_eq!((index.samples(1000).len(), Index::new().samples(5).len()), (100, 0));
        let entry = index.entries()[7];
        assert!(entry.check_header(&header(7)).is_ok());
        assert!(matches!(entry.check_header(&header(8)), Err(IndexError::Length { found: 24, .. })));
        assert!(matches!(entry.check_header(&[1; 12]), Err(IndexError::Header(_))));
    }
}
