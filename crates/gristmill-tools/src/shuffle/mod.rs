//! Writing records in a random order of all of them.
//!
//! Every record gets a random key from the seed and its place in the input; the output is sorted by these keys, which
//! is a uniform permutation whatever memory there is. Records that do not fit into memory go into unnamed temporary
//! files first, one per range of keys.

mod spill;

use std::ffi::{OsStr, OsString};

use gristmill_types::rng::philox_block;
use gristmill_types::{Error, Result};

use crate::files::{check_name, expand, total_bytes};
use crate::out::{OutOptions, Outputs, check_target, local, make_parent, shard_names};
use crate::progress::Progress;
use crate::read::{each_record_of, open};
use crate::reshape::{Contiguous, ReshapeReport};

use spill::Sorter;

/// How [`shuffle`] works.
#[derive(Clone, Debug)]
pub struct ShuffleOptions {
    /// Files to write.
    pub shards: u64,
    /// Decides the order: the same seed and inputs give the same files.
    pub seed: u64,
    /// Bytes of records held in memory; at least one record is.
    pub memory: usize,
    /// Where temporary files lie; beside the output when `None`. They take as many bytes as all payloads.
    pub temporary: Option<OsString>,
    /// How the files are written.
    pub out: OutOptions,
}

/// Bytes of records held in memory by default.
pub const MEMORY_BYTES: usize = 128 << 20;

impl Default for ShuffleOptions {
    fn default() -> Self {
        Self { shards: 1, seed: 0, memory: MEMORY_BYTES, temporary: None, out: OutOptions::default() }
    }
}

/// Writes all records of the inputs in a random order into `shards` files `PREFIX-00000-of-0000N.tfrecord`.
///
/// # Errors
/// `AlreadyExists`, `InvalidArgument` if an output is an input or for 0 or more than 99999 shards; `DataLoss` for
/// damaged inputs; `NotFound` and what the store reports; `Cancelled`. Nothing is written then.
pub fn shuffle(
    inputs: &[OsString],
    prefix: &OsStr,
    options: &ShuffleOptions,
    progress: &dyn Progress,
) -> Result<ReshapeReport> {
    let files = expand(inputs)?;
    let names = shard_names(prefix, options.shards)?;
    if let Some(temporary) = &options.temporary {
        check_name(temporary, "the directory for temporary files")?;
    }
    for name in &names {
        check_target(name, &files, options.out.overwrite)?;
    }
    make_parent(prefix)?;
    let bytes = total_bytes(&files)?;
    progress.phase("reading", Some(bytes));
    let folder = options.temporary.clone().unwrap_or_else(|| folder_of(prefix));
    let mut sorter = Sorter::new(folder, options.memory, bytes);
    let mut payload_bytes = 0;
    let mut compression = options.out.compression;
    for (number, file) in (0u32..).zip(&files) {
        let (mut reader, _) = open(file, progress)?;
        let _ = compression.get_or_insert(reader.compression());
        each_record_of(&mut reader, file, progress, |record| {
            payload_bytes += record.payload.len() as u64;
            let key = key(options.seed, number, record.index);
            sorter.add(key, record.payload)
        })?;
    }
    let total = sorter.records();
    progress.phase("writing", Some(total));
    let mut outputs = Outputs::new();
    let mut writer = Contiguous::new(&names, total, compression.unwrap_or_default(), options.out.level);
    sorter.drain(&mut |payload| {
        writer.write(payload, &mut outputs)?;
        progress.advance(1, payload.len() as u64);
        if progress.cancelled() { Err(crate::read::stopped()) } else { Ok(()) }
    })?;
    let records = writer.finish(&mut outputs)?;
    let inputs = files.len() as u64;
    let files = outputs.keep()?;
    Ok(ReshapeReport { inputs, records, payload_bytes, files, by: None, seed: Some(options.seed) })
}

/// The directory in which an output lies.
fn folder_of(prefix: &OsStr) -> OsString {
    match local(prefix).parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.as_os_str().to_owned(),
        _ => ".".into(),
    }
}

/// The random key of a record.
fn key(seed: u64, file: u32, record: u64) -> u64 {
    let halves = |v: u64| [v as u32, (v >> 32) as u32];
    let [low, high] = halves(record);
    let word = philox_block(halves(seed), [low, high, file, 0x5368_7566]);
    u64::from(word[1]) << 32 | u64::from(word[0])
}

/// The error for a temporary file.
fn temporary_failed(folder: &OsStr, error: &std::io::Error) -> Error {
    Error::from(gristmill_storage::StoreError::from_io(folder, error))
        .hint("--temporary names a directory for temporary files; they need as much room as the records")
}
