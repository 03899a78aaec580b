//! `gristmill index`.

use std::ffi::OsString;

use gristmill_tools::index::index;
use gristmill_types::Result;

use super::Context;
use crate::exit;
use crate::show::{bytes, count};

/// Writes FILE.idx beside each file: where every record begins and how long it is
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The text format of the tfrecord2idx tools: a line \"offset length\" for each record. \
    Only uncompressed files can be indexed. An index that is there is replaced.\n\nExamples:\n  \
    gristmill index 'data/*.tfrecord'\n  \
    gristmill index data --into indexes"
)]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// Writes the indexes into this directory
    #[arg(long, value_name = "DIR")]
    into: Option<OsString>,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let report = index(&self.files, self.into.as_deref(), cx.bar)?;
        if !cx.as_json(&report)? {
            for file in &report.files {
                cx.line(format!("{}: {}, {}", file.index, count(file.records, "record"), bytes(file.bytes)));
            }
        }
        Ok(exit::OK)
    }
}
