//! Finds what is wrong with record files.

mod dataset;
mod hashed;
mod pictures;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use gristmill_record::{EndInfo, FrameError, Lost, ReadError, RecordReader, Span};
use gristmill_types::Result;
use serde::Serialize;

use crate::files::{bytes, expand, shown, total_bytes};
use crate::info::compression_name;
use crate::progress::Progress;
use crate::{parallel, read};

pub use dataset::DatasetCheck;
use hashed::{Hashed, Sum};
use pictures::Pictures;

/// Problems of one file that a report lists.
pub const PROBLEMS_LISTED: usize = 1_000;

/// What kind of damage a [`Problem`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The checksum of a record's length does not hold.
    LengthChecksum,
    /// The checksum of a record's payload does not hold.
    PayloadChecksum,
    /// The file ends inside a record.
    Truncated,
    /// The file ends with fewer bytes than a record's header has.
    Tail,
    /// The compressed data are damaged.
    Compression,
    /// The compressed data end before their trailer.
    CutShort,
    /// The file is no record file.
    Format,
    /// An image cannot be decoded.
    Image,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What kind of damage.
    pub kind: ProblemKind,
    /// The record's position in the file, from 0; a lost stretch counts as one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<u64>,
    /// Where its frame begins, in bytes of the (decompressed) stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// One past the last byte that is lost with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_until: Option<u64>,
    /// The checksum in the file, as hexadecimal number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
    /// The checksum of the bytes as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computed: Option<String>,
    /// The key of the feature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// In words.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            record: None,
            offset: None,
            lost_until: None,
            stored: None,
            computed: None,
            feature: None,
            message: message.into(),
        }
    }
}

/// What was found in one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileCheck {
    /// The path.
    pub path: String,
    /// Intact records.
    pub records: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// `NONE`, `GZIP` or `ZLIB`.
    pub compression: &'static str,
    /// CRC32C of the file's bytes as eight hexadecimal digits; `None` if it was not read to its end.
    pub crc32c: Option<String>,
    /// Images that were decoded without an error.
    pub images: u64,
    /// What is wrong, in the order of the file; at most [`PROBLEMS_LISTED`].
    pub problems: Vec<Problem>,
    /// Problems, listed or not.
    pub problem_count: u64,
    /// Bytes of the (decompressed) stream that belong to no intact record.
    pub lost_bytes: u64,
}

/// What was found in all files.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// Intact records of all files.
    pub records: u64,
    /// Images that were decoded without an error.
    pub images: u64,
    /// Problems of all files and datasets.
    pub problem_count: u64,
    /// Each file.
    pub files: Vec<FileCheck>,
    /// Each `dataset.json` beside the files.
    pub datasets: Vec<DatasetCheck>,
}

/// How [`verify`] works.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// Decodes every image.
    pub decode: bool,
}

/// Checks every frame and checksum of the files, and their completeness where a `dataset.json` lies beside them.
/// After a bad record it goes on with the next one that holds.
///
/// # Errors
/// `NotFound` and what the store reports; `Cancelled`. What is wrong with the data stands in the report.
pub fn verify(inputs: &[OsString], options: &VerifyOptions, progress: &dyn Progress) -> Result<VerifyReport> {
    let files = expand(inputs)?;
    progress.phase("verifying", Some(total_bytes(&files)?));
    let files = parallel::map(&files, |file| check(file, options, progress))?;
    let mut folders: BTreeMap<PathBuf, Vec<&FileCheck>> = BTreeMap::new();
    for file in &files {
        let folder = Path::new(&file.path).parent().map_or_else(PathBuf::new, Path::to_owned);
        folders.entry(folder).or_default().push(file);
    }
    let mut datasets = Vec::new();
    for (folder, files) in folders {
        datasets.extend(dataset::check(&folder, &files)?);
    }
    let of_files: u64 = files.iter().map(|file| file.problem_count).sum();
    let of_datasets: u64 = datasets.iter().map(|dataset| dataset.problems.len() as u64).sum();
    Ok(VerifyReport {
        ok: of_files + of_datasets == 0,
        records: files.iter().map(|file| file.records).sum(),
        images: files.iter().map(|file| file.images).sum(),
        problem_count: of_files + of_datasets,
        files,
        datasets,
    })
}

/// Collects the problems of one file.
#[derive(Default)]
pub(crate) struct Problems {
    list: Vec<Problem>,
    count: u64,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: Problem) {
        self.count += 1;
        if self.list.len() < PROBLEMS_LISTED {
            self.list.push(problem);
        }
    }
}

fn check(path: &OsStr, options: &VerifyOptions, progress: &dyn Progress) -> Result<FileCheck> {
    let (source, file_bytes) = read::open_raw(path, progress)?;
    let sum = Sum::new();
    let options_of_reader = read::options_for(file_bytes);
    let mut reader = RecordReader::open(Hashed::new(source, sum.clone()), &options_of_reader)
        .map_err(|e| if progress.cancelled() { read::stopped() } else { read::in_file(e, path) })?;
    let mut problems = Problems::default();
    let mut pictures = options.decode.then(Pictures::default);
    let (mut records, mut lost_bytes) = (0, 0);
    let (mut buffer, mut spans) = (Vec::new(), Vec::<Span>::new());
    loop {
        read::go_on(progress)?;
        match reader.next_chunk(&mut buffer, 256, &mut spans) {
            Ok(Some(chunk)) => {
                records += spans.len() as u64;
                let Some(pictures) = &mut pictures else { continue };
                for (index, span) in (chunk.first_index..).zip(&spans) {
                    read::go_on(progress)?;
                    pictures.look(span.of(&buffer), index, chunk.frame_offset(*span), &mut problems);
                }
            }
            Ok(None) => break,
            Err(ReadError::Frame(frame)) => {
                let index = reader.index();
                let lost = match reader.resync() {
                    Ok(lost) => lost,
                    Err(error @ ReadError::Codec(_)) => {
                        problems.add(of_frame(&frame, index, None));
                        problems.add(of_codec(&error, reader.index(), reader.offset()));
                        break;
                    }
                    Err(error) => {
                        read::go_on(progress)?;
                        return Err(read::in_file(error, path));
                    }
                };
                lost_bytes += lost.map_or(0, |lost| lost.end - lost.start);
                problems.add(of_frame(&frame, index, lost));
                if lost.is_none() {
                    break;
                }
            }
            Err(error @ ReadError::WrongFormat { .. }) => {
                problems.add(Problem::new(ProblemKind::Format, read::words(&error)));
                break;
            }
            Err(error @ ReadError::Codec(_)) => {
                problems.add(of_codec(&error, reader.index(), reader.offset()));
                break;
            }
            Err(error) => {
                read::go_on(progress)?;
                return Err(read::in_file(error, path));
            }
        }
    }
    if let Some(end) = reader.end() {
        of_end(end, reader.offset(), &mut problems);
    }
    let images = pictures.map_or(0, |pictures| pictures.finish(&mut problems));
    problems.list.sort_by_key(|problem| problem.offset.unwrap_or(0));
    Ok(FileCheck {
        path: shown(path),
        records,
        file_bytes,
        compression: compression_name(reader.compression()),
        crc32c: sum.of_whole(file_bytes).map(|sum| format!("{sum:08x}")),
        images,
        problems: problems.list,
        problem_count: problems.count,
        lost_bytes,
    })
}

fn of_frame(frame: &FrameError, index: u64, lost: Option<Lost>) -> Problem {
    let (kind, sums) = match frame {
        FrameError::BadLengthCrc { stored, computed, .. } => {
            (ProblemKind::LengthChecksum, Some((stored, computed)))
        }
        FrameError::BadPayloadCrc { stored, computed, .. } => {
            (ProblemKind::PayloadChecksum, Some((stored, computed)))
        }
        _ => (ProblemKind::Truncated, None),
    };
    Problem {
        record: Some(index),
        offset: Some(frame.offset()),
        lost_until: lost.map(|lost| lost.end),
        stored: sums.map(|(stored, _)| format!("{stored:#010x}")),
        computed: sums.map(|(_, computed)| format!("{computed:#010x}")),
        ..Problem::new(kind, frame.to_string())
    }
}

fn of_codec(error: &ReadError, record: u64, offset: u64) -> Problem {
    let problem = Problem::new(ProblemKind::Compression, error.to_string());
    Problem { record: Some(record), offset: Some(offset), ..problem }
}

fn of_end(end: EndInfo, offset: u64, problems: &mut Problems) {
    if end.tail_bytes > 0 {
        let words = format!(
            "the file ends with {}, fewer than the 12 of a record's header",
            bytes(end.tail_bytes as u64)
        );
        let problem = Problem::new(ProblemKind::Tail, words);
        problems.add(Problem { offset: Some(offset), ..problem });
    }
    if end.cut_short {
        let words = "the compressed data end before their trailer: records may be missing";
        problems.add(Problem { offset: Some(offset), ..Problem::new(ProblemKind::CutShort, words) });
    }
}
