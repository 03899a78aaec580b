//! `gristmill salvage`.

use std::ffi::OsString;

use gristmill_tools::salvage::{check_report, salvage, write_report};
use gristmill_types::Result;

use super::Context;
use super::output::Output;
use crate::exit;
use crate::show::{bytes, count, grouped};

/// Stretches shown as text.
const SHOWN: usize = 20;

/// Writes the intact records of a damaged file to a new one
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Says which bytes were lost. The exit code is 1 when something was lost, 0 when the file was \
    whole.\n\nExamples:\n  \
    gristmill salvage bad.tfrecord good.tfrecord\n  \
    gristmill salvage bad.tfrecord good.tfrecord --report lost.json"
)]
pub(crate) struct Args {
    /// The damaged file
    #[arg(value_name = "IN")]
    input: OsString,
    /// The file to write
    #[arg(value_name = "OUT")]
    output: OsString,
    /// Also writes the report to this file, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<OsString>,
    #[command(flatten)]
    how: Output,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let options = self.how.options();
        if let Some(path) = &self.report {
            check_report(path, &self.input, &self.output, options.overwrite)?;
        }
        let written = [Some(&self.output), self.report.as_ref()];
        cx.screen.make_way(written.into_iter().flatten().map(OsString::as_os_str));
        let report = salvage(&self.input, &self.output, &options, cx.bar)?;
        if let Some(path) = &self.report {
            write_report(&report, path)?;
        }
        if !cx.as_json(&report)? {
            let out = &report.output;
            cx.line(format!("{}: {} saved, {}", out.path, count(out.records, "record"), bytes(out.bytes)));
            for lost in report.lost.iter().take(SHOWN) {
                cx.line(format!(
                    "lost: bytes {} to {} ({}), after {}",
                    lost.start,
                    lost.end,
                    bytes(lost.end - lost.start),
                    count(lost.after_records, "intact record")
                ));
            }
            if report.lost_stretches > SHOWN as u64 {
                cx.line(format!("and {} more", grouped(report.lost_stretches - SHOWN as u64)));
            }
            if let Some(error) = &report.stream_error {
                cx.line(format!("the compressed data could not be read further: {error}"));
            }
            match report.ok() {
                true => cx.line("nothing was lost"),
                false => cx.line(format!(
                    "{} lost in {}",
                    bytes(report.lost_bytes),
                    count(report.lost_stretches, "place")
                )),
            }
        }
        Ok(if report.ok() { exit::OK } else { exit::DATA })
    }
}
