//! What record files hold: records, bytes, features with their kinds and lengths, labels, and the Python code that
//! parses them.

mod acc;
mod spec;

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;

use gristmill_types::{Error, Kind, Result};
use serde::Serialize;

use crate::files::{expand, shown, total_bytes};
use crate::progress::Progress;
use crate::view::{RecordKind, kind_name, view};
use crate::{parallel, read};

use acc::{Acc, FeatureAcc, Histogram, Label};

/// What is known about one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileInfo {
    /// The path.
    pub path: String,
    /// Records, up to the damage if there is one.
    pub records: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of all payloads.
    pub payload_bytes: u64,
    /// Bytes of the shortest payload; `None` without records.
    pub min_record: Option<u64>,
    /// Bytes of the longest payload; `None` without records.
    pub max_record: Option<u64>,
    /// `NONE`, `GZIP` or `ZLIB`.
    pub compression: &'static str,
    /// What all records are; `None` without records or where they differ.
    pub kind: Option<RecordKind>,
    /// What stopped the reading; `None` if all was read.
    pub error: Option<String>,
    /// What to do about a file that holds no records at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
    /// Bytes after the last record that are no record.
    pub tail_bytes: u64,
}

impl FileInfo {
    /// What stopped the reading, as an error.
    pub fn failure(&self) -> Option<Error> {
        let error = Error::new(Kind::DataLoss, self.error.clone()?).in_file(&self.path);
        Some(match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        })
    }
}

/// How often one value occurs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelCount {
    /// An integer, or a text.
    pub value: serde_json::Value,
    /// Occurrences.
    pub count: u64,
}

/// The values of a feature that looks like a label, ascending.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Labels {
    /// The values counted.
    pub values: Vec<LabelCount>,
    /// Occurrences of values that are not listed, because there are too many or they are too long.
    pub other: u64,
}

/// What records hold under one key.
#[derive(Clone, Debug, Serialize)]
pub struct FeatureInfo {
    /// The key.
    pub name: String,
    /// `bytes`, `float`, `int64`; `unset` if no record has a list, `mixed` if their kinds differ.
    pub kind: &'static str,
    /// Records (for features of a sequence: steps) with a list.
    pub present: u64,
    /// Records (steps) with the key but without a list.
    pub unset: u64,
    /// Records without the key.
    pub missing: u64,
    /// Fewest values of a list; an unset feature has 0.
    pub min_len: u64,
    /// Most values of a list.
    pub max_len: u64,
    /// Bytes of the shortest byte string.
    pub min_bytes: Option<u64>,
    /// Bytes of the longest byte string.
    pub max_bytes: Option<u64>,
    /// Byte strings that are pictures, by format.
    pub images: std::collections::BTreeMap<&'static str, u64>,
    /// Fewest steps, for a feature of a sequence.
    pub min_steps: Option<u64>,
    /// Most steps, for a feature of a sequence.
    pub max_steps: Option<u64>,
    /// The values, where the name speaks of a label.
    pub labels: Option<Labels>,
}

/// What is known about all files together.
#[derive(Clone, Debug, Serialize)]
pub struct InfoReport {
    /// Each file.
    pub files: Vec<FileInfo>,
    /// Records of all files.
    pub records: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Bytes of all payloads.
    pub payload_bytes: u64,
    /// What all records are; `None` without records or where they differ.
    pub kind: Option<RecordKind>,
    /// Features of Examples, or the context of SequenceExamples, by ascending key.
    pub features: Vec<FeatureInfo>,
    /// Features of sequences, by ascending key.
    pub feature_lists: Vec<FeatureInfo>,
    /// Python code that reads and parses the files; `None` if they hold no Examples.
    pub parse_spec: Option<String>,
}

impl InfoReport {
    /// Whether every file was read to its end, and ended with a record.
    pub fn ok(&self) -> bool {
        self.files.iter().all(|file| file.error.is_none() && file.tail_bytes == 0)
    }
}

/// How [`info`] works.
#[derive(Clone, Debug, Default)]
pub struct InfoOptions {
    /// Looks at so many records of each file only; all when `None`.
    pub limit: Option<u64>,
}

/// Looks at every record of the files (paths, patterns, directories: see [`expand`]).
///
/// Damaged data end the look at their file and stand in [`FileInfo::error`].
///
/// # Errors
/// `NotFound` and what the store reports; `Cancelled`.
pub fn info(inputs: &[OsString], options: &InfoOptions, progress: &dyn Progress) -> Result<InfoReport> {
    let files = expand(inputs)?;
    progress.phase("reading", Some(total_bytes(&files)?));
    let seen = parallel::map(&files, |file| look(file, options, progress))?;
    let mut all = Acc::default();
    let mut infos = Vec::with_capacity(seen.len());
    for (info, acc) in seen {
        infos.push(info);
        all.merge(acc);
    }
    let parse_spec = spec::python(&files, &infos, &all);
    Ok(InfoReport {
        records: all.records,
        file_bytes: infos.iter().map(|info| info.file_bytes).sum(),
        payload_bytes: all.payload_bytes,
        kind: all.kind(),
        features: all.features.iter().map(|(key, acc)| feature(key, acc, all.records)).collect(),
        feature_lists: all
            .lists
            .iter()
            .map(|(key, acc)| {
                let steps = acc.steps.get();
                FeatureInfo {
                    missing: all.records - acc.records,
                    min_steps: steps.map(|s| s.0),
                    max_steps: steps.map(|s| s.1),
                    ..feature(key, &acc.values, 0)
                }
            })
            .collect(),
        files: infos,
        parse_spec,
    })
}

/// The Python code that parses the files, from their first `limit` records each.
///
/// # Errors
/// As [`info`]; `DataLoss` for a damaged file; `InvalidArgument` for records that are no Examples.
pub fn infer_spec(inputs: &[OsString], limit: Option<u64>, progress: &dyn Progress) -> Result<InfoReport> {
    let report = info(inputs, &InfoOptions { limit }, progress)?;
    if let Some(error) = report.files.iter().find_map(FileInfo::failure) {
        return Err(error);
    }
    if report.parse_spec.is_none() {
        let found = report.kind.map_or("records of other or different kinds", RecordKind::name);
        let message = format!("expected Examples or SequenceExamples, found {found}");
        return Err(Error::invalid(message)
            .in_file(report.files.first().map_or_else(String::new, |file| file.path.clone())));
    }
    Ok(report)
}

fn look(path: &OsStr, options: &InfoOptions, progress: &dyn Progress) -> Result<(FileInfo, Acc)> {
    let (mut reader, file_bytes) = read::open(path, progress)?;
    let mut acc = Acc::default();
    let limit = options.limit.unwrap_or(u64::MAX);
    let mut ended = Ok(None);
    if limit > 0 {
        ended = read::each_of(&mut reader, progress, |record| {
            acc.see(record.payload, &view(record.payload));
            let full = acc.records >= limit;
            Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
    }
    let mut hint = None;
    let (error, tail_bytes) = match ended {
        Ok(Some(end)) => {
            let cut = end.cut_short.then(|| read::CUT_SHORT.to_owned());
            (cut, end.tail_bytes as u64)
        }
        Ok(None) => (None, 0),
        Err(error) if error.is_data_loss() => {
            hint = read::no_records(&error).map(|(_, hint)| hint);
            (Some(read::words(&error)), 0)
        }
        Err(error) => return Err(read::in_file(error, path)),
    };
    let record_bytes = acc.record_bytes.get();
    let info = FileInfo {
        path: shown(path),
        records: acc.records,
        file_bytes,
        payload_bytes: acc.payload_bytes,
        min_record: record_bytes.map(|b| b.0),
        max_record: record_bytes.map(|b| b.1),
        compression: compression_name(reader.compression()),
        kind: acc.kind(),
        error,
        hint,
        tail_bytes,
    };
    Ok((info, acc))
}

/// TensorFlow's name, in words where that is empty.
pub(crate) fn compression_name(compression: gristmill_record::Compression) -> &'static str {
    match compression {
        gristmill_record::Compression::None => "NONE",
        other => other.name(),
    }
}

fn feature(key: &[u8], acc: &FeatureAcc, records: u64) -> FeatureInfo {
    let (min_len, max_len) = acc.len.get().unwrap_or((0, 0));
    let value_bytes = acc.value_bytes.get();
    FeatureInfo {
        name: String::from_utf8_lossy(key).into_owned(),
        kind: match acc.kinds()[..] {
            [] => "unset",
            [kind] => kind_name(kind),
            _ => "mixed",
        },
        present: acc.present(),
        unset: acc.unset,
        missing: records.saturating_sub(acc.present() + acc.unset),
        min_len,
        max_len,
        min_bytes: value_bytes.map(|b| b.0),
        max_bytes: value_bytes.map(|b| b.1),
        images: acc.pictures.clone(),
        min_steps: None,
        max_steps: None,
        labels: acc.labels.as_ref().and_then(labels),
    }
}

fn labels(histogram: &Histogram) -> Option<Labels> {
    let values: Vec<LabelCount> = histogram
        .counts
        .iter()
        .map(|(label, &count)| {
            let value = match label {
                Label::Int(value) => (*value).into(),
                Label::Bytes(text) => String::from_utf8_lossy(text).into_owned().into(),
            };
            LabelCount { value, count }
        })
        .collect();
    (!values.is_empty()).then_some(Labels { values, other: histogram.other })
}
