//! Packs photos and tables of files into record files.
//!
//! The source is a folder of class folders or a manifest ([`manifest`]); the target is a folder that receives
//! `NAME-00000-of-00016.tfrecord` and so on and, last, `dataset.json` ([`DatasetInfo`]). Every record is a
//! `tf.train.Example` with the features `image` (the file's bytes, or a JPEG of the size asked for), `label` (int64),
//! `label_name`, `height`, `width` (of the stored image) and `filename` (the path relative to the source), those of the
//! manifest's further columns, and, if asked for, `restart_index` (where the rows of a JPEG begin).
//!
//! The bytes written depend on the source's names and contents and on the options alone: neither threads nor
//! interruptions change them. A killed job is continued by running it again; the module `stage` says how. An image that
//! is left out leaves its shard shorter than the others, so that no other record moves.
//!
//! Memory stays under 300 MB for a million files: paths and sizes are kept in columns, and files, records and decoded
//! images in flight have budgets. An image that takes more to be decoded and changed than there is for one (201 MB, some
//! 60 million pixels) counts as unreadable, with a reason that says so. Only more files than that, and the cells of a
//! manifest, which are kept as text, go beyond.

mod chunks;
mod encode;
mod hash;
mod inspect;
mod job;
mod listing;
pub mod manifest;
mod memory;
mod options;
mod release;
mod report;
mod shard;
mod split;
mod stage;
mod transform;
mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use gristmill_types::{Error, Kind, Result};

pub use options::{Exif, Fit, OnError, PackOptions, Recorded, parse_size, parse_splits};
pub use report::{
    ClassCount, DatasetInfo, ExifCounts, FeatureInfo, Named, NamedFile, PackReport, ShardInfo, SourceInfo,
    SplitInfo,
};

use crate::progress::Progress;
use job::Job;
use listing::{Listing, io_error};
use report::shown;
use shard::{Finished, Tally};
use stage::{DATASET, Stage, source_differs, tidy};

/// The version of `dataset.json`.
const VERSION: u32 = 1;
/// How many bad files an error names.
const NAMED_IN_ERROR: usize = 20;

/// Packs `source` into the folder `out`.
///
/// # Errors
/// `NotFound`, `PermissionDenied` and others of the system, with the file; `InvalidArgument` for options or a manifest
/// that make no sense, a source without images and a target that is a file; `FailedPrecondition` for a target that holds
/// another unfinished job or is being packed into, and for files that change meanwhile; `AlreadyExists` for a target with other data;
/// `DataLoss` for images that cannot be read, unless they are to be skipped; `ResourceExhausted` for a full disk;
/// `Cancelled`. After an error nothing is visible in `out`; shards that were finished before a full disk or a
/// cancellation wait in its hidden folder `.gristmill-pack` for the next run.
pub fn pack(source: &Path, out: &Path, options: &PackOptions, progress: &dyn Progress) -> Result<PackReport> {
    let started = Instant::now();
    options.validate()?;
    if source.as_os_str().is_empty() {
        return Err(Error::invalid("the name of the source is empty"));
    }
    let meta = fs::metadata(source).map_err(|e| missing(source, &e))?;
    check_target(source, out, meta.is_dir())?;
    let listing = list(source, &meta, progress)?;
    let job = Job::new(source, listing, options)?;

    let earlier = read_dataset(out)?;
    if let Some(earlier) = &earlier {
        let differences = differences(&job, earlier, out);
        if differences.is_empty() {
            tidy(out)?;
            return Ok(report(out, earlier.clone(), 0, true, started));
        }
        if !options.overwrite && !out.join(stage::FOLDER).exists() {
            return Err(Error::new(
                Kind::AlreadyExists,
                format!("the folder holds another data set: {}", differences.join("; ")),
            )
            .in_file(here(out))
            .hint("overwrite=True replaces it; or choose another folder"));
        }
    }
    let files = |d: DatasetInfo| d.splits.into_iter().flat_map(|s| s.shards).map(|s| s.file).collect();
    let stage = Stage::open(out, &job, earlier.map(files))?;
    match write(&job, &stage, progress) {
        Ok((dataset, resumed)) => {
            for note in dataset.source.notes(10) {
                progress.note(&note);
            }
            Ok(report(out, dataset, resumed, false, started))
        }
        Err(error) => {
            let keep =
                !matches!(error.kind(), Kind::DataLoss | Kind::FailedPrecondition | Kind::AlreadyExists);
            let kept = stage.abandon(keep);
            Err(if kept > 0 {
                error.hint(format!(
                    "run again to go on: {} kept",
                    report::count(kept as u64, "finished shard is", "finished shards are")
                ))
            } else {
                error
            })
        }
    }
}

fn here(path: &Path) -> String {
    shown(path.as_os_str().as_encoded_bytes())
}

fn report(out: &Path, dataset: DatasetInfo, resumed: u64, complete: bool, started: Instant) -> PackReport {
    PackReport {
        out: here(out),
        dataset,
        resumed_shards: resumed,
        complete_before: complete,
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// The error for a source that cannot be looked at.
fn missing(source: &Path, error: &std::io::Error) -> Error {
    let e = io_error(source, error);
    if here(source).contains(['*', '?', '[']) {
        return e.hint("pack takes a folder or a manifest, not a pattern");
    }
    match e.kind() {
        Kind::NotFound => e.hint("pack takes a folder of class folders, or a .csv, .tsv or .jsonl manifest"),
        _ => e,
    }
}

fn list(source: &Path, meta: &fs::Metadata, progress: &dyn Progress) -> Result<Listing> {
    if meta.is_dir() {
        return listing::tree(source, progress);
    }
    match manifest::Format::of(source) {
        Some(_) if !meta.is_file() => {
            Err(Error::invalid("expected a manifest, found a pipe or a device").in_file(here(source)))
        }
        Some(format) => manifest::list(source, format, progress),
        None => Err(Error::invalid("expected a folder of class folders or a manifest, found another file")
            .in_file(here(source))
            .hint("a manifest's name ends in .csv, .tsv or .jsonl")),
    }
}

/// Refuses targets that cannot become a folder of record files, and those that would become part of the source.
fn check_target(source: &Path, out: &Path, tree: bool) -> Result<()> {
    if out.as_os_str().is_empty() {
        return Err(Error::invalid("the target folder has no name"));
    }
    if fs::metadata(out).is_ok_and(|meta| !meta.is_dir()) {
        return Err(
            Error::new(Kind::InvalidArgument, "the target is a file, expected a folder").in_file(here(out))
        );
    }
    if tree
        && let (Ok(source), Some(out)) = (fs::canonicalize(source), real(out))
        && out.starts_with(&source)
    {
        return Err(Error::invalid("the target lies inside the source, whose folders are the classes")
            .in_file(here(&out))
            .hint("choose a folder beside the source"));
    }
    Ok(())
}

/// The real path of something that may not be there yet.
fn real(path: &Path) -> Option<PathBuf> {
    let full = std::path::absolute(path).ok()?;
    full.ancestors().find_map(|above| {
        let base = fs::canonicalize(above).ok()?;
        Some(base.join(full.strip_prefix(above).ok()?))
    })
}

fn read_dataset(out: &Path) -> Result<Option<DatasetInfo>> {
    let path = out.join(DATASET);
    let text = match fs::read(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|e| io_error(&path, &e))?,
    };
    match serde_json::from_slice::<DatasetInfo>(&text) {
        Ok(dataset) => Ok(Some(dataset)),
        Err(e) => {
            Err(Error::new(Kind::AlreadyExists, format!("dataset.json is not one that pack wrote: {e}"))
                .in_file(here(&path))
                .hint("choose another folder, or remove the file"))
        }
    }
}

/// What keeps a data set that is there from being the result of this job.
fn differences(job: &Job, there: &DatasetInfo, out: &Path) -> Vec<String> {
    let mut found = job.recorded.differences(&there.options);
    if there.version != VERSION {
        found.push(format!("version is {VERSION}, was {}", there.version));
    }
    if there.name != job.name {
        found.push(format!("name is {}, was {}", job.name, there.name));
    }
    let now = (job.listing.len() as u64, job.listing.bytes());
    if there.listing != job.identity {
        found.push(source_differs(now, (there.source.files, there.source.bytes)));
    } else if fs::metadata(out.join(DATASET)).is_ok_and(|meta| listing::times(&meta).0 < job.listing.newest) {
        found.push("files of the source were modified since".to_owned());
    }
    for shard in there.splits.iter().flat_map(|s| &s.shards) {
        match fs::metadata(out.join(&shard.file)) {
            Ok(meta) if meta.len() == shard.bytes => {}
            Ok(meta) => {
                found.push(format!("{} has {} bytes, expected {}", shard.file, meta.len(), shard.bytes))
            }
            Err(_) => found.push(format!("{} is missing", shard.file)),
        }
    }
    found
}

/// Makes what is missing and publishes everything; gives the description and how many shards were there.
fn write(job: &Job, stage: &Stage, progress: &dyn Progress) -> Result<(DatasetInfo, u64)> {
    let there: Vec<_> = job.shards.iter().map(|shard| stage.finished(&shard.file)).collect();
    let resumed = there.iter().flatten().count() as u64;
    let finished = work::run(job, stage, there, progress)?;
    let mut total = Tally::default();
    finished.iter().for_each(|shard| total.merge(&shard.tally));
    let skipped = &total.skipped;
    if skipped.total > 0 && (job.options.on_error == OnError::Fail || total.records == 0) {
        return Err(Error::new(
            Kind::DataLoss,
            format!(
                "{} of {} cannot be read:{}",
                skipped.total,
                report::count(job.listing.len() as u64, "image", "images"),
                skipped.lines(NAMED_IN_ERROR).replace('\n', "\n  ")
            ),
        )
        .in_file(here(match job.listing.root.as_os_str().is_empty() {
            true => Path::new("."),
            false => &job.listing.root,
        }))
        .hint(if total.records == 0 {
            "check the source"
        } else {
            "on_error='skip' leaves them out"
        }));
    }
    let dataset = describe(job, &finished, total);
    stage.publish(&finished, &dataset)?;
    Ok((dataset, resumed))
}

fn describe(job: &Job, finished: &[Finished], total: Tally) -> DatasetInfo {
    let listing = &job.listing;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut classes: Vec<_> = listing
        .classes
        .iter()
        .map(|class| ClassCount {
            name: text(&class.name),
            label: class.label,
            records: 0,
            by_split: vec![0; job.splits.len()],
        })
        .collect();
    let mut splits: Vec<_> = job
        .splits
        .iter()
        .map(|s| SplitInfo { name: s.name.clone(), share: s.share, records: 0, bytes: 0, shards: Vec::new() })
        .collect();
    for (shard, done) in job.shards.iter().zip(finished) {
        let split = &mut splits[shard.split];
        split.records += done.tally.records;
        split.bytes += done.bytes;
        split.shards.push(ShardInfo {
            file: done.file.clone(),
            records: done.tally.records,
            bytes: done.bytes,
            crc32c: format!("{:08x}", done.crc32c),
        });
        for (&class, &n) in &done.tally.classes {
            // Accounts come from files of this job; a class that is not there is of no use.
            if let Some(count) = classes.get_mut(class as usize) {
                count.records += n;
                count.by_split[shard.split] += n;
            }
        }
    }
    let (identical, identical_across_splits) = identical(job, finished);
    let class_names =
        if listing.named { classes.iter().map(|c| c.name.clone()).collect() } else { Vec::new() };
    DatasetInfo {
        format: "gristmill-dataset".to_owned(),
        version: VERSION,
        name: job.name.clone(),
        records: total.records,
        bytes: finished.iter().map(|f| f.bytes).sum(),
        compression: job.options.compression.name().to_owned(),
        class_names,
        classes,
        features: job.schema.describe(listing),
        splits,
        options: job.recorded.clone(),
        source: SourceInfo {
            kind: listing.kind.to_owned(),
            files: listing.len() as u64,
            bytes: listing.bytes(),
            formats: total.formats,
            skipped: total.skipped,
            misnamed: total.misnamed,
            not_images: listing.not_images.clone(),
            exif: ExifCounts {
                oriented: total.orientations.values().sum(),
                by_orientation: total.orientations,
                applied: job.options.exif == Exif::Apply,
            },
            identical,
            identical_across_splits,
        },
        listing: job.identity.clone(),
    }
}

/// Records whose file equals an earlier one, and those of them whose twin is in another split.
fn identical(job: &Job, finished: &[Finished]) -> (u64, u64) {
    let mut seen: Vec<(u64, u16)> = Vec::new();
    for (shard, done) in job.shards.iter().zip(finished) {
        seen.extend(done.tally.contents.iter().map(|&content| (content, shard.split as u16)));
    }
    seen.sort_unstable();
    let pairs = seen.windows(2).filter(|w| w[0].0 == w[1].0);
    pairs.fold((0, 0), |(all, across), w| (all + 1, across + u64::from(w[0].1 != w[1].1)))
}
