//! `gristmill pack`.

use std::path::PathBuf;

use clap::ValueEnum;
use gristmill_tools::Compression;
use gristmill_tools::pack::{Exif, Fit, OnError, PackOptions, pack, parse_size, parse_splits};
use gristmill_tools::progress::Progress;
use gristmill_types::Result;

use super::Context;
use super::output::CompressionName;
use crate::bar::Bar;
use crate::exit;

/// Files of one sort that the summary names.
const NAMED: usize = 20;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnErrorName {
    /// Names every bad image and writes nothing
    Fail,
    /// Leaves bad images out and names them; the exit code is 1 when there were any
    Skip,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ExifName {
    /// Counts and reports them
    Ignore,
    /// Turns them upright and encodes them anew
    Apply,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FitName {
    /// Scales both sides on their own, as tf.image.resize
    Stretch,
    /// Scales until the size is covered, then cuts out the centre
    Crop,
}

/// Packs photos into record files: a folder of class folders, or a CSV, TSV or JSONL manifest
#[derive(Debug, clap::Args)]
#[command(
    after_help = "SOURCE is a folder whose folders are the classes, or a manifest with the columns path and label; \
    further columns become features. Records have the features image, label, label_name, height, width and filename.\n\n\
    DIR gets the shards, such as flowers-00000-of-00016.tfrecord, and a dataset.json. A run that was interrupted \
    goes on where it stopped; the same source, options and seed give the same bytes.\n\n\
    The exit code is 1 when images cannot be read: with --on-error fail nothing is written then, with --on-error skip \
    all others are.\n\nExamples:\n  \
    gristmill pack photos packed --shards 16\n  \
    gristmill pack photos packed --resize 192x192 --quality 90 --split train=0.8,validation=0.2\n  \
    gristmill pack labels.csv packed --on-error skip --compression gzip"
)]
pub(crate) struct Args {
    /// Folder of class folders, or manifest
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// Folder to write to
    #[arg(value_name = "DIR")]
    out: PathBuf,
    /// Number of shards in all
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "shard_size",
          value_parser = clap::value_parser!(u32).range(1..=99_999))]
    shards: Option<u32>,
    /// Megabytes that a shard should have
    #[arg(long, value_name = "MB", default_value_t = PackOptions::default().shard_size_mb,
          value_parser = clap::value_parser!(u64).range(1..))]
    shard_size: u64,
    /// Gives every image this size and encodes it as JPEG; the bytes stay as they are otherwise
    #[arg(long, value_name = "WxH", value_parser = size)]
    resize: Option<(u32, u32)>,
    /// How images get that size
    #[arg(long, value_name = "HOW", default_value = "stretch", requires = "resize")]
    fit: FitName,
    /// JPEG quality of what is encoded
    #[arg(long, value_name = "0-100", default_value_t = PackOptions::default().quality,
          value_parser = clap::value_parser!(u8).range(0..=100))]
    quality: u8,
    /// Splits and their shares, such as train=0.8,validation=0.2: by class, and by path and seed alone
    #[arg(long, value_name = "NAME=SHARE,…", value_parser = splits)]
    split: Option<Splits>,
    /// Decides order and splits
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Keeps class after class instead of mixing the order
    #[arg(long)]
    no_shuffle: bool,
    /// How the shards are compressed
    #[arg(long, value_name = "HOW", default_value = "none")]
    compression: CompressionName,
    /// What happens to images that cannot be read
    #[arg(long, value_name = "HOW", default_value = "fail")]
    on_error: OnErrorName,
    /// What happens to images that lie on their side
    #[arg(long, value_name = "HOW", default_value = "ignore")]
    exif: ExifName,
    /// Adds the feature restart_index: where the rows of a JPEG begin, so that a part of it is decoded faster
    #[arg(long)]
    restart_index: bool,
    /// Decodes every image in full, to find those that are damaged inside
    #[arg(long)]
    check: bool,
    /// Threads; one per core if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// What file names begin with; the name of the source if not given
    #[arg(long)]
    name: Option<String>,
    /// Replaces another data set in the folder
    #[arg(long)]
    overwrite: bool,
    /// Forces every shard to the disk before it gets its name
    #[arg(long)]
    durable: bool,
}

/// A bar without the notes, which the summary repeats.
struct WithoutNotes<'a>(&'a Bar);

impl Progress for WithoutNotes<'_> {
    fn phase(&self, name: &str, steps: Option<u64>) {
        self.0.phase(name, steps);
    }

    fn advance(&self, steps: u64, bytes: u64) {
        self.0.advance(steps, bytes);
    }

    fn note(&self, _: &str) {}

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

#[derive(Clone, Debug)]
struct Splits(Vec<(String, f64)>);

/// The words of an error for the usage message, which is one line.
fn words(error: &gristmill_types::Error) -> String {
    match error.advice() {
        Some(advice) => format!("{}, {advice}", error.message()),
        None => error.message().to_owned(),
    }
}

fn size(text: &str) -> std::result::Result<(u32, u32), String> {
    parse_size(text).map_err(|error| words(&error))
}

fn splits(text: &str) -> std::result::Result<Splits, String> {
    parse_splits(text).map(Splits).map_err(|error| words(&error))
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let options = PackOptions {
            shards: self.shards,
            shard_size_mb: self.shard_size,
            resize: self.resize,
            fit: match self.fit {
                FitName::Stretch => Fit::Stretch,
                FitName::Crop => Fit::Crop,
            },
            quality: self.quality,
            splits: self.split.map(|splits| splits.0).unwrap_or_default(),
            seed: self.seed,
            shuffle: !self.no_shuffle,
            compression: Compression::from(self.compression),
            on_error: match self.on_error {
                OnErrorName::Fail => OnError::Fail,
                OnErrorName::Skip => OnError::Skip,
            },
            exif: match self.exif {
                ExifName::Ignore => Exif::Ignore,
                ExifName::Apply => Exif::Apply,
            },
            restart_index: self.restart_index,
            check: self.check,
            threads: self.threads.map(|threads| threads as usize),
            overwrite: self.overwrite,
            durable: self.durable,
            name: self.name,
        };
        let report = if cx.json {
            pack(&self.source, &self.out, &options, cx.bar)?
        } else {
            pack(&self.source, &self.out, &options, &WithoutNotes(cx.bar))?
        };
        if !cx.as_json(&report)? {
            cx.line(exit::for_shell(&report.summary(NAMED)));
        }
        Ok(if report.dataset.source.skipped.total > 0 { exit::DATA } else { exit::OK })
    }
}
