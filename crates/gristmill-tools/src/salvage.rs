//! Getting the intact records out of a damaged file.

use std::cell::Cell;
use std::ffi::OsStr;
use std::io::{self, Read, Write};

use gristmill_record::codec::SNIFF_BYTES;
use gristmill_record::{Compression, Event, Inflater, Salvager, sniff};
use gristmill_storage::{StoreError, Stores};
use gristmill_types::{Error, Kind, Result};
use serde::Serialize;

use crate::files::{bytes, check_name, shown};
use crate::info::compression_name;
use crate::out::{Out, OutFile, OutOptions, Outputs, check_target, make_parent, same_place};
use crate::progress::Progress;
use crate::read::{CUT_SHORT, Tracked, go_on, open_raw, stopped};

/// A stretch of the (decompressed) stream without an intact record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LostBytes {
    /// First lost byte.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// Intact records before it.
    pub after_records: u64,
}

/// What a salvage saved and lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SalvageReport {
    /// The damaged file.
    pub input: String,
    /// How it is compressed: `NONE`, `GZIP` or `ZLIB`.
    pub compression: &'static str,
    /// The file with the intact records.
    pub output: OutFile,
    /// What was lost, in order; at most [`LOST_LISTED`].
    pub lost: Vec<LostBytes>,
    /// Stretches that were lost, listed or not.
    pub lost_stretches: u64,
    /// Bytes lost, of the (decompressed) stream.
    pub lost_bytes: u64,
    /// Why the compressed data could not be read further, if so.
    pub stream_error: Option<String>,
}

impl SalvageReport {
    /// Whether nothing was lost.
    pub fn ok(&self) -> bool {
        self.lost_stretches == 0 && self.stream_error.is_none()
    }
}

/// Lost stretches that a report lists.
pub const LOST_LISTED: usize = 10_000;

/// Records between two questions whether to stop.
const RECORDS_AT_ONCE: u64 = 1024;

/// The decompressed bytes of a file.
enum Stream<'p> {
    Plain(Looked<'p>),
    /// With a place to say that the compressed data ended too early, which is a quiet end.
    Inflated(Box<Inflater<Looked<'p>>>, &'p Cell<bool>),
}

impl Read for Stream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(into),
            Self::Inflated(source, cut_short) => {
                let n = source.read(into)?;
                cut_short.set(source.cut_short());
                Ok(n)
            }
        }
    }
}

/// Writes the intact records of `input` to `output`.
///
/// # Errors
/// `InvalidArgument` if both are one file, `AlreadyExists`, `DataLoss` if there is no intact record in a file that is
/// not empty; `NotFound` and what the store reports; `Cancelled`. Nothing is written then.
pub fn salvage(
    input: &OsStr,
    output: &OsStr,
    options: &OutOptions,
    progress: &dyn Progress,
) -> Result<SalvageReport> {
    check_name(input, "the damaged file")?;
    let (source, size) = open_raw(input, progress)?;
    check_target(output, &[input.to_owned()], options.overwrite)?;
    progress.phase("salvaging", Some(size));
    let (found, source) = compression_of(source).map_err(|e| match progress.cancelled() {
        true => stopped(),
        false => StoreError::from_io(input, &e).into(),
    })?;
    let cut_short = Cell::new(false);
    let stream = match found {
        Compression::None => Stream::Plain(source),
        other => Stream::Inflated(Box::new(Inflater::new(source, other)), &cut_short),
    };
    let mut salvager = Salvager::new(stream);
    make_parent(output)?;
    let mut out = Out::create(output, options.compression.unwrap_or(found), options.level)?;
    let (mut lost, mut lost_stretches, mut lost_bytes) = (Vec::new(), 0, 0);
    while let Some(event) = salvager.next_event() {
        match event {
            Event::Record { payload, .. } => out.write(payload)?,
            Event::Lost(gone) => {
                if lost.len() < LOST_LISTED {
                    lost.push(LostBytes { start: gone.start, end: gone.end, after_records: out.records() });
                }
                lost_stretches += 1;
                lost_bytes += gone.end - gone.start;
            }
        }
        if out.records().is_multiple_of(RECORDS_AT_ONCE) {
            go_on(progress)?;
        }
    }
    go_on(progress)?;
    let stream_error = match salvager.source_error() {
        Some(error) => Some(error.to_string()),
        None => cut_short.get().then(|| CUT_SHORT.to_owned()),
    };
    if out.records() == 0 && (lost_bytes > 0 || stream_error.is_some()) {
        let message = format!("no intact record in {}", bytes(size));
        let error = Error::new(Kind::DataLoss, message).in_file(shown(input));
        return Err(error.hint("it may be no record file at all: 'gristmill verify' says what it looks like"));
    }
    let mut outputs = Outputs::new();
    outputs.finish(out)?;
    let output = outputs.keep()?.remove(0);
    let compression = compression_name(found);
    Ok(SalvageReport {
        input: shown(input),
        compression,
        output,
        lost,
        lost_stretches,
        lost_bytes,
        stream_error,
    })
}

/// Refuses a place for the report that is the damaged file or the output, and a file that must not be replaced.
///
/// # Errors
/// `InvalidArgument`, `AlreadyExists`, `FailedPrecondition` for a directory.
pub fn check_report(path: &OsStr, input: &OsStr, output: &OsStr, overwrite: bool) -> Result<()> {
    check_name(path, "the report")?;
    if let Some(what) = [(input, "damaged file"), (output, "output")].iter().find(|p| same_place(path, p.0)) {
        let message = format!("the report {} is the {} too", shown(path), what.1);
        return Err(Error::invalid(message).hint("write it to another name"));
    }
    check_target(path, &[], overwrite)
}

/// Writes a report as indented JSON, whole or not at all.
///
/// # Errors
/// What the store reports.
pub fn write_report(report: &SalvageReport, path: &OsStr) -> Result<()> {
    let text = serde_json::to_string_pretty(report).map_err(|e| Error::internal(e.to_string()))?;
    make_parent(path)?;
    let mut sink = Stores::default().of(path)?.create(path)?;
    writeln!(sink, "{text}").map_err(|e| StoreError::from_io(path, &e))?;
    Ok(sink.commit()?)
}

/// A file whose first bytes were looked at; a pipe cannot go back to them.
type Looked<'p> = io::Chain<io::Cursor<Vec<u8>>, Tracked<'p>>;

/// Looks at the first bytes.
fn compression_of(mut source: Tracked<'_>) -> io::Result<(Compression, Looked<'_>)> {
    let mut head = Vec::with_capacity(SNIFF_BYTES);
    source.by_ref().take(SNIFF_BYTES as u64).read_to_end(&mut head)?;
    Ok((sniff(&head).compression().unwrap_or_default(), io::Cursor::new(head).chain(source)))
}
