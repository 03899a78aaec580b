//! Arguments shared by the commands that write record files.

use clap::ValueEnum;
use gristmill_tools::reshape::ReshapeReport;
use gristmill_tools::{Compression, OutOptions};
use gristmill_types::Result;

use super::Context;
use crate::exit;
use crate::show::{bytes, count};

/// How a file is compressed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompressionName {
    None,
    Gzip,
    Zlib,
}

impl From<CompressionName> for Compression {
    fn from(name: CompressionName) -> Self {
        match name {
            CompressionName::None => Self::None,
            CompressionName::Gzip => Self::Gzip,
            CompressionName::Zlib => Self::Zlib,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// How the output is compressed; as the first input if not given
    #[arg(long, value_name = "HOW")]
    compression: Option<CompressionName>,
    /// zlib's level of compression
    #[arg(long, value_name = "0-9", value_parser = clap::value_parser!(u32).range(0..=9))]
    level: Option<u32>,
    /// Replaces files that are there
    #[arg(long)]
    overwrite: bool,
}

impl Output {
    pub(crate) fn options(&self) -> OutOptions {
        OutOptions {
            compression: self.compression.map(Into::into),
            level: self.level,
            overwrite: self.overwrite,
        }
    }
}

/// Shows what was written.
pub(crate) fn show(report: &ReshapeReport, cx: &mut Context<'_>) -> Result<i32> {
    if !cx.as_json(report)? {
        let written: u64 = report.files.iter().map(|file| file.bytes).sum();
        match &report.files[..] {
            [file] => {
                cx.line(format!("{}: {}, {}", file.path, count(file.records, "record"), bytes(file.bytes)))
            }
            files => {
                let fewest = files.iter().map(|file| file.records).min().unwrap_or(0);
                let most = files.iter().map(|file| file.records).max().unwrap_or(0);
                let (first, last) = (&files[0].path, &files[files.len() - 1].path);
                cx.line(format!("{first}\n  to {last}"));
                cx.line(format!(
                    "{} of {} records each, {} in all, {}",
                    count(files.len() as u64, "file"),
                    crate::show::extent(fewest, most),
                    count(report.records, "record"),
                    bytes(written)
                ));
            }
        }
    }
    Ok(exit::OK)
}
