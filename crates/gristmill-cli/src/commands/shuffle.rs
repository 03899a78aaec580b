//! `gristmill shuffle`.

use std::ffi::OsString;

use gristmill_tools::shuffle::{MEMORY_BYTES, ShuffleOptions, shuffle};
use gristmill_types::Result;

use super::Context;
use super::output::{Output, show};

/// Writes all records in a random order of all of them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A true permutation: every order is as likely as any other, and the seed decides it. Writes \
    PREFIX-00000-of-00016.tfrecord and so on. What does not fit into the memory goes into temporary files without \
    names, beside the output unless --temporary says otherwise.\n\nExamples:\n  \
    gristmill shuffle 'sorted-*.tfrecord' -o mixed/train --shards 16 --seed 1"
)]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// What the names of the files begin with
    #[arg(long, short, value_name = "PREFIX")]
    output: OsString,
    /// Number of files to write
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..=99_999))]
    shards: u64,
    /// Decides the order
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Megabytes of records held in memory
    #[arg(long, value_name = "MB", default_value_t = (MEMORY_BYTES >> 20) as u64,
          value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    memory: u64,
    /// Directory for temporary files, which need as much room as the records
    #[arg(long, value_name = "DIR")]
    temporary: Option<OsString>,
    #[command(flatten)]
    how: Output,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let memory = usize::try_from(self.memory << 20).unwrap_or(usize::MAX);
        let (shards, seed, temporary) = (self.shards, self.seed, self.temporary);
        let options = ShuffleOptions { shards, seed, memory, temporary, out: self.how.options() };
        let report = shuffle(&self.files, &self.output, &options, cx.bar)?;
        show(&report, cx)
    }
}
