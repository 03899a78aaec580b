//! `gristmill merge`.

use std::ffi::OsString;

use gristmill_tools::reshape::merge;
use gristmill_types::Result;

use super::Context;
use super::output::{Output, show};

/// Writes the records of all files, one after the other, into one file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gristmill merge 'data/train-*.tfrecord' -o train.tfrecord\n  \
    gristmill merge old.tfrecord.gz -o new.tfrecord --compression none")]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    output: OsString,
    #[command(flatten)]
    how: Output,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        cx.screen.make_way([self.output.as_os_str()]);
        let report = merge(&self.files, &self.output, &self.how.options(), cx.bar)?;
        show(&report, cx)
    }
}
