//! `gristmill split`.

use std::ffi::OsString;

use clap::ValueEnum;
use gristmill_tools::reshape::{SplitBy, split};
use gristmill_types::Result;

use super::Context;
use super::output::{Output, show};

/// Which records go into which shard.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    /// The first records into the first shard, and so on: merging gives the input again
    Contiguous,
    /// Record i into shard i mod N: every shard has some of everything
    RoundRobin,
}

/// Splits files into shards of as many records each
#[derive(Debug, clap::Args)]
#[command(after_help = "Writes PREFIX-00000-of-00016.tfrecord and so on.\n\nExamples:\n  \
    gristmill split big.tfrecord -o shards/train --shards 16\n  \
    gristmill split sorted.tfrecord -o shards/train --shards 16 --by round-robin")]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// What the names of the shards begin with
    #[arg(long, short, value_name = "PREFIX")]
    output: OsString,
    /// Number of shards
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=99_999))]
    shards: u64,
    /// Which records go into which shard
    #[arg(long, value_name = "HOW", default_value = "contiguous")]
    by: By,
    #[command(flatten)]
    how: Output,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let by = match self.by {
            By::Contiguous => SplitBy::Contiguous,
            By::RoundRobin => SplitBy::RoundRobin,
        };
        let report = split(&self.files, &self.output, self.shards, by, &self.how.options(), cx.bar)?;
        show(&report, cx)
    }
}
