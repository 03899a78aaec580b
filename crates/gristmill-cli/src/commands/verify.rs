//! `gristmill verify`.

use std::ffi::OsString;

use gristmill_tools::verify::{FileCheck, Problem, VerifyOptions, verify};
use gristmill_types::Result;

use super::Context;
use crate::exit;
use crate::show::{bytes, count};

/// Checks every frame and checksum, and with --decode every image
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Names every bad record and goes on with the next one that holds. Where a dataset.json lies \
    beside the files, their completeness is checked too. The exit code is 1 when something is wrong.\n\nExamples:\n  \
    gristmill verify 'data/*.tfrecord'\n  \
    gristmill verify data --decode --json > report.json"
)]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// Decodes every image
    #[arg(long)]
    decode: bool,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let report = verify(&self.files, &VerifyOptions { decode: self.decode }, cx.bar)?;
        if !cx.as_json(&report)? {
            for file in &report.files {
                show_file(file, cx);
            }
            for dataset in &report.datasets {
                for problem in &dataset.problems {
                    cx.line(format!("{}: {problem}", dataset.path));
                }
            }
            let mut line = format!(
                "{}, {}",
                count(report.files.len() as u64, "file"),
                count(report.records, "intact record")
            );
            if self.decode {
                line += &format!(", {} decoded", count(report.images, "image"));
            }
            line += &match report.problem_count {
                0 => ": all good".to_owned(),
                n => format!(": {}", count(n, "problem")),
            };
            cx.line(line);
        }
        Ok(if report.ok { exit::OK } else { exit::DATA })
    }
}

fn show_file(file: &FileCheck, cx: &mut Context<'_>) {
    for problem in &file.problems {
        cx.line(format!("{}: {}", file.path, in_words(problem)));
    }
    let listed = file.problems.len() as u64;
    if file.problem_count > listed {
        cx.line(format!("{}: and {}", file.path, count(file.problem_count - listed, "more problem")));
    }
    if file.problem_count > 0 {
        let saved = count(file.records, "intact record");
        cx.line(format!("{}: {saved}, {} in no intact record", file.path, bytes(file.lost_bytes)));
    }
}

fn in_words(problem: &Problem) -> String {
    let mut words = String::new();
    if let Some(record) = problem.record {
        words += &format!("record {record} ");
    }
    if let Some(offset) = problem.offset {
        words += &format!("at byte {offset}");
    }
    if let Some(feature) = &problem.feature {
        words += &format!(", feature '{feature}'");
    }
    if !words.is_empty() {
        words += ": ";
    }
    words + &problem.message
}
