//! Sorting records by random keys within a bound of memory.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use gristmill_types::Result;

use super::temporary_failed;

/// Bytes before a payload in a temporary file: key, position, length.
const HEAD_BYTES: usize = 24;
/// Buckets that one level may have; each holds a file open and a buffer.
const MAX_BUCKETS: u32 = 64;
/// Buffer of a bucket's file in bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// Bytes of bookkeeping per record held.
const ENTRY_BYTES: usize = std::mem::size_of::<Entry>();

/// A record in memory; the order of the fields is the order of the output, equal keys in the order of the input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: u64,
    position: u64,
    start: usize,
    len: usize,
}

/// Records of one range of keys in a temporary file without a name: it vanishes with the process.
struct Bucket {
    file: BufWriter<File>,
    records: u64,
    bytes: u64,
}

/// Takes records with keys and gives them back in the order of the keys.
pub(super) struct Sorter {
    folder: OsString,
    memory: usize,
    /// Bits of the keys that are the same for all records here, from the top.
    fixed_bits: u32,
    /// Further bits that choose the bucket.
    bucket_bits: u32,
    held: Vec<u8>,
    entries: Vec<Entry>,
    /// Empty as long as all records fit into memory.
    buckets: Vec<Bucket>,
    records: u64,
}

impl Sorter {
    /// A sorter for about `expected` bytes of which `memory` may be held; temporary files go into `folder`.
    pub(super) fn new(folder: OsString, memory: usize, expected: u64) -> Self {
        Self::below(folder, memory, expected, 0)
    }

    fn below(folder: OsString, memory: usize, expected: u64, fixed_bits: u32) -> Self {
        // Buckets of half the memory on average: their sizes vary.
        let wanted = expected.saturating_mul(2).div_ceil(memory.max(1) as u64);
        let buckets = wanted.clamp(2, u64::from(MAX_BUCKETS)).next_power_of_two();
        let bucket_bits = buckets.trailing_zeros().min(64 - fixed_bits);
        Self {
            folder,
            memory,
            fixed_bits,
            bucket_bits,
            held: Vec::new(),
            entries: Vec::new(),
            buckets: Vec::new(),
            records: 0,
        }
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Adds a record behind those that came before.
    pub(super) fn add(&mut self, key: u64, payload: &[u8]) -> Result<()> {
        let position = self.records;
        self.records += 1;
        self.put(key, position, payload)
    }

    fn put(&mut self, key: u64, position: u64, payload: &[u8]) -> Result<()> {
        if !self.buckets.is_empty() {
            return self.spill(key, position, payload);
        }
        let needed = self.held.len() + payload.len() + (self.entries.len() + 1) * ENTRY_BYTES;
        // With no bit left to tell keys apart (never by chance) everything is held.
        if needed > self.memory && !self.entries.is_empty() && self.bucket_bits > 0 {
            self.open_buckets()?;
            return self.spill(key, position, payload);
        }
        self.entries.push(Entry { key, position, start: self.held.len(), len: payload.len() });
        self.held.extend_from_slice(payload);
        Ok(())
    }

    /// Moves what is held into temporary files.
    fn open_buckets(&mut self) -> Result<()> {
        for _ in 0..1u64 << self.bucket_bits {
            let file = tempfile::tempfile_in(Path::new(&self.folder))
                .map_err(|error| temporary_failed(&self.folder, &error))?;
            self.buckets.push(Bucket {
                file: BufWriter::with_capacity(BUFFER_BYTES, file),
                records: 0,
                bytes: 0,
            });
        }
        let held = std::mem::take(&mut self.held);
        for entry in std::mem::take(&mut self.entries) {
            self.spill(entry.key, entry.position, &held[entry.start..entry.start + entry.len])?;
        }
        Ok(())
    }

    fn spill(&mut self, key: u64, position: u64, payload: &[u8]) -> Result<()> {
        let at = key << self.fixed_bits >> (64 - self.bucket_bits);
        let bucket = &mut self.buckets[at as usize];
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&key.to_le_bytes());
        head[8..16].copy_from_slice(&position.to_le_bytes());
        head[16..].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        bucket.records += 1;
        bucket.bytes += payload.len() as u64;
        let written = bucket.file.write_all(&head).and_then(|()| bucket.file.write_all(payload));
        written.map_err(|error| temporary_failed(&self.folder, &error))
    }

    /// Gives every record to `f` in the order of the keys.
    pub(super) fn drain(mut self, f: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.buckets.is_empty() {
            self.entries.sort_unstable();
            return self.entries.iter().try_for_each(|e| f(&self.held[e.start..e.start + e.len]));
        }
        let failed = |error: &std::io::Error| temporary_failed(&self.folder, error);
        let fixed_bits = self.fixed_bits + self.bucket_bits;
        // Buckets not read yet keep no buffer.
        let mut files = Vec::with_capacity(self.buckets.len());
        for bucket in self.buckets.drain(..) {
            let file = bucket.file.into_inner().map_err(|error| failed(error.error()))?;
            files.push((file, bucket.records, bucket.bytes));
        }
        for (mut file, records, bytes) in files {
            file.seek(SeekFrom::Start(0)).map_err(|error| failed(&error))?;
            let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
            let expected = bytes + records * ENTRY_BYTES as u64;
            let mut inner = Self::below(self.folder.clone(), self.memory, expected, fixed_bits);
            let mut payload = Vec::new();
            for _ in 0..records {
                let mut head = [0; HEAD_BYTES];
                file.read_exact(&mut head).map_err(|error| failed(&error))?;
                let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
                // Written by this process: fits, for it was in memory before.
                payload.resize(word(16) as usize, 0);
                file.read_exact(&mut payload).map_err(|error| failed(&error))?;
                inner.put(word(0), word(8), &payload)?;
            }
            drop(file);
            inner.drain(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_types::rng::philox_block;

    #[test]
    fn order_is_that_of_the_keys_whatever_the_memory() {
        let records: Vec<(u64, Vec<u8>)> = (0..3000u32)
            .map(|i| {
                let [a, b, ..] = philox_block([1, 2], [i, 0, 0, 0]);
                (u64::from(a) << 32 | u64::from(b), i.to_le_bytes().repeat(1 + (i % 50) as usize))
            })
            .collect();
        let mut expected = records.clone();
        expected.sort();
        let folder = tempfile::tempdir().unwrap();
        for memory in [4_000, 40_000, 1 << 20, 1 << 30] {
            for guess in [0, 100_000] {
                let mut sorter = Sorter::new(folder.path().as_os_str().to_owned(), memory, guess);
                records.iter().for_each(|(key, payload)| sorter.add(*key, payload).unwrap());
                assert_eq!(sorter.records(), 3000);
                let mut seen = Vec::new();
                sorter
                    .drain(&mut |payload| {
                        seen.push(payload.to_vec());
                        Ok(())
                    })
                    .unwrap();
                assert!(seen.iter().eq(expected.iter().map(|(_, payload)| payload)), "{memory} {guess}");
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn equal_keys_keep_the_order_of_the_input() {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(folder.path().as_os_str().to_owned(), 64, 1 << 40);
        (0..200u8).for_each(|i| sorter.add(7, &[i]).unwrap());
        let mut seen = Vec::new();
        sorter
            .drain(&mut |payload| {
                seen.push(payload[0]);
                Ok(())
            })
            .unwrap();
        assert!(seen.iter().copied().eq(0..200));
    }
}
