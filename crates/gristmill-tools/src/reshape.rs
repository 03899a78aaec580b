//! Merging record files into one, and splitting them into many.

use std::ffi::{OsStr, OsString};

use gristmill_record::Compression;
use gristmill_types::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::files::{check_twice, expand, total_bytes};
use crate::out::{Out, OutFile, OutOptions, Outputs, check_target, make_parent, shard_names};
use crate::progress::{Progress, Quiet};
use crate::read::{each_record, each_record_of, go_on, open};

/// Which records go into which shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitBy {
    /// Shard 0 has the first records, shard 1 the next ones: merging the shards gives the input again. Needs a look at
    /// the headers first, to count.
    #[default]
    Contiguous,
    /// Record *i* goes to shard *i mod N*.
    RoundRobin,
}

/// What a job that writes record files did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReshapeReport {
    /// Input files.
    pub inputs: u64,
    /// Records read and written.
    pub records: u64,
    /// Bytes of all payloads.
    pub payload_bytes: u64,
    /// What was written.
    pub files: Vec<OutFile>,
    /// How records were dealt out, where that is a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<SplitBy>,
    /// The seed of the order, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Shards written at a time when records are dealt out round robin: each holds a file open and a buffer of 256 KiB.
const SHARDS_AT_ONCE: usize = 128;

/// Writes the records of all inputs, one after the other, into one file.
///
/// # Errors
/// `AlreadyExists`, `InvalidArgument` if the output is an input; `DataLoss` for damaged inputs; `NotFound` and what
/// the store reports; `Cancelled`. Nothing is written then.
pub fn merge(
    inputs: &[OsString],
    output: &OsStr,
    options: &OutOptions,
    progress: &dyn Progress,
) -> Result<ReshapeReport> {
    let files = expand(inputs)?;
    check_target(output, &files, options.overwrite)?;
    progress.phase("merging", Some(total_bytes(&files)?));
    let mut begun: Option<Out> = None;
    let mut payload_bytes = 0;
    for file in &files {
        // Opened once: what is read from a pipe is gone from it.
        let (mut reader, _) = open(file, progress)?;
        let out = match &mut begun {
            Some(out) => out,
            None => {
                make_parent(output)?;
                let compression = options.compression.unwrap_or(reader.compression());
                begun.insert(Out::create(output, compression, options.level)?)
            }
        };
        each_record_of(&mut reader, file, progress, |record| {
            payload_bytes += record.payload.len() as u64;
            out.write(record.payload)
        })?;
    }
    let mut outputs = Outputs::new();
    let mut records = 0;
    if let Some(out) = begun {
        records = out.records();
        outputs.finish(out)?;
    }
    let inputs = files.len() as u64;
    Ok(ReshapeReport { inputs, records, payload_bytes, files: outputs.keep()?, by: None, seed: None })
}

/// Writes the records of all inputs into `shards` files `PREFIX-00000-of-0000N.tfrecord`, whose numbers of records
/// differ by one at most.
///
/// # Errors
/// As [`merge`]; `InvalidArgument` for 0 or more than 99999 shards, and for a pipe, which cannot be read twice.
pub fn split(
    inputs: &[OsString],
    prefix: &OsStr,
    shards: u64,
    by: SplitBy,
    options: &OutOptions,
    progress: &dyn Progress,
) -> Result<ReshapeReport> {
    let files = expand(inputs)?;
    let names = shard_names(prefix, shards)?;
    for name in &names {
        check_target(name, &files, options.overwrite)?;
    }
    check_twice(&files)?;
    let compression = match options.compression {
        Some(given) => given,
        None => open(&files[0], &Quiet(progress))?.0.compression(),
    };
    make_parent(prefix)?;
    let job = Job { files: &files, names: &names, compression, level: options.level, progress };
    let mut outputs = Outputs::new();
    let (records, payload_bytes) = match by {
        SplitBy::Contiguous => job.contiguous(&mut outputs)?,
        SplitBy::RoundRobin => job.round_robin(&mut outputs)?,
    };
    let inputs = files.len() as u64;
    Ok(ReshapeReport { inputs, records, payload_bytes, files: outputs.keep()?, by: Some(by), seed: None })
}

struct Job<'a> {
    files: &'a [OsString],
    names: &'a [OsString],
    compression: Compression,
    level: Option<u32>,
    progress: &'a dyn Progress,
}

impl Job<'_> {
    fn contiguous(&self, outputs: &mut Outputs) -> Result<(u64, u64)> {
        let total = self.count()?;
        self.progress.phase("splitting", Some(total_bytes(self.files)?));
        let mut writer = Contiguous::new(self.names, total, self.compression, self.level);
        let mut payload_bytes = 0;
        for file in self.files {
            each_record(file, self.progress, |record| {
                payload_bytes += record.payload.len() as u64;
                writer.write(record.payload, outputs)
            })?;
        }
        Ok((writer.finish(outputs)?, payload_bytes))
    }

    /// The number of records, by the headers.
    fn count(&self) -> Result<u64> {
        self.progress.phase("counting", Some(total_bytes(self.files)?));
        let mut total = 0;
        for file in self.files {
            let (mut reader, _) = open(file, self.progress)?;
            loop {
                go_on(self.progress)?;
                match reader.seek_records(4096) {
                    Ok(0) => break,
                    Ok(n) => total += n,
                    Err(error) => {
                        go_on(self.progress)?;
                        return Err(crate::read::at_record(error, &reader, file));
                    }
                }
            }
        }
        Ok(total)
    }

    /// Reads the inputs once for every [`SHARDS_AT_ONCE`] shards.
    fn round_robin(&self, outputs: &mut Outputs) -> Result<(u64, u64)> {
        let (mut records, mut payload_bytes) = (0, 0);
        let shards = self.names.len() as u64;
        for (pass, names) in self.names.chunks(SHARDS_AT_ONCE).enumerate() {
            self.progress.phase("splitting", Some(total_bytes(self.files)?));
            let first = (pass * SHARDS_AT_ONCE) as u64;
            let create = |name: &OsString| Out::create(name, self.compression, self.level);
            let mut outs = names.iter().map(create).collect::<Result<Vec<_>>>()?;
            (records, payload_bytes) = (0, 0);
            for file in self.files {
                each_record(file, self.progress, |record| {
                    let shard = records % shards;
                    records += 1;
                    payload_bytes += record.payload.len() as u64;
                    let own = shard.checked_sub(first).and_then(|at| outs.get_mut(at as usize));
                    own.map_or(Ok(()), |out| out.write(record.payload))
                })?;
            }
            for out in outs {
                outputs.finish(out)?;
            }
        }
        Ok((records, payload_bytes))
    }
}

/// Deals `total` records out to files in order, as evenly as they go.
pub(crate) struct Contiguous<'a> {
    names: &'a [OsString],
    total: u64,
    compression: Compression,
    level: Option<u32>,
    written: u64,
    shard: u64,
    out: Option<Out>,
}

impl<'a> Contiguous<'a> {
    pub(crate) fn new(
        names: &'a [OsString],
        total: u64,
        compression: Compression,
        level: Option<u32>,
    ) -> Self {
        Self { names, total, compression, level, written: 0, shard: 0, out: None }
    }

    /// Records before the end of a shard.
    fn end_of(&self, shard: u64) -> u64 {
        let shards = self.names.len() as u128;
        // At most `total`.
        (u128::from(self.total) * u128::from(shard + 1) / shards) as u64
    }

    /// The open file, into which the next record goes; shards that get no record are written empty.
    fn open(&mut self, outputs: &mut Outputs) -> Result<&mut Out> {
        while self.written >= self.end_of(self.shard) && self.shard + 1 < self.names.len() as u64 {
            self.close(outputs)?;
            self.shard += 1;
        }
        if self.out.is_none() {
            let name = &self.names[self.shard as usize];
            self.out = Some(Out::create(name, self.compression, self.level)?);
        }
        Ok(self.out.as_mut().expect("just put there"))
    }

    fn close(&mut self, outputs: &mut Outputs) -> Result<()> {
        let out = match self.out.take() {
            Some(out) => out,
            None => Out::create(&self.names[self.shard as usize], self.compression, self.level)?,
        };
        outputs.finish(out)
    }

    pub(crate) fn write(&mut self, payload: &[u8], outputs: &mut Outputs) -> Result<()> {
        self.open(outputs)?.write(payload)?;
        self.written += 1;
        Ok(())
    }

    /// Ends the last shard and those behind it that got nothing; gives the records written.
    pub(crate) fn finish(mut self, outputs: &mut Outputs) -> Result<u64> {
        if self.written != self.total {
            let (found, counted) = (self.written, self.total);
            return Err(Error::new(
                gristmill_types::Kind::FailedPrecondition,
                format!("{counted} records were counted, {found} were read: an input changed meanwhile"),
            ));
        }
        while self.shard < self.names.len() as u64 {
            self.close(outputs)?;
            self.shard += 1;
        }
        Ok(self.written)
    }
}
