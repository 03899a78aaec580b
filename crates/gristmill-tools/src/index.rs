//! Index files in the text format of the `tfrecord2idx` tools.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use gristmill_record::Compression;
use gristmill_record::index::Index;
use gristmill_storage::{StoreError, Stores};
use gristmill_types::{Error, Result};
use serde::Serialize;

use crate::files::{self, check_name, check_twice, expand, shown};
use crate::parallel;
use crate::progress::{Progress, Quiet};
use crate::read::{Reader, at_record, go_on, open};

/// One index that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexedFile {
    /// The record file.
    pub path: String,
    /// The index.
    pub index: String,
    /// Records in it.
    pub records: u64,
    /// Bytes of the record file.
    pub bytes: u64,
}

/// The indexes that were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexReport {
    /// Each file.
    pub files: Vec<IndexedFile>,
    /// Records of all files.
    pub records: u64,
}

/// Writes `FILE.idx` beside every file, or all of them into the directory `into`. An index that is there is replaced:
/// it holds nothing that the file does not tell. Payloads are passed over, only the headers are checked.
///
/// # Errors
/// `InvalidArgument` for a compressed file, whose records have no places to point at, and for two files of one name
/// that go into one directory; `DataLoss` for a damaged header and for bytes behind the last record; what the store
/// reports; `Cancelled`.
pub fn index(inputs: &[OsString], into: Option<&OsStr>, progress: &dyn Progress) -> Result<IndexReport> {
    let files = expand(inputs)?;
    check_twice(&files)?;
    let mut jobs = Vec::with_capacity(files.len());
    for file in files {
        let target = target(&file, into);
        jobs.push((file, target));
    }
    let mut targets: Vec<_> = jobs.iter().map(|(_, target)| target).collect();
    targets.sort_unstable();
    if let Some(twice) = targets.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("two files have the index {}", twice[0].to_string_lossy());
        return Err(Error::invalid(message).hint("index them without an output directory"));
    }
    if let Some(into) = into {
        check_name(into, "the directory of the indexes")?;
        Stores::default().of(into)?.create_dir_all(into)?;
    }
    progress.phase("indexing", Some(jobs.len() as u64));
    let files = parallel::map(&jobs, |(file, target)| {
        let done = index_one(file, target, progress)?;
        progress.advance(1, done.bytes);
        Ok(done)
    })?;
    Ok(IndexReport { records: files.iter().map(|file| file.records).sum(), files })
}

fn target(file: &OsStr, into: Option<&OsStr>) -> OsString {
    let mut target = match (into, std::path::Path::new(file).file_name()) {
        (Some(into), Some(name)) => std::path::Path::new(into).join(name).into_os_string(),
        _ => file.to_owned(),
    };
    target.push(".idx");
    target
}

fn index_one(file: &OsStr, target: &OsStr, progress: &dyn Progress) -> Result<IndexedFile> {
    // Files are its steps, not their bytes.
    let quiet = Quiet(progress);
    let (mut reader, bytes) = open(file, &quiet)?;
    if reader.compression() != Compression::None {
        let message = format!("an index points into a file as it is, this one is {}", reader.compression());
        return Err(Error::invalid(message)
            .in_file(shown(file))
            .hint("'gristmill merge FILE -o OUT --compression none' writes it uncompressed"));
    }
    let index = build(&mut reader, file, &quiet)?;
    index.check_size(bytes).map_err(|_| {
        let behind = bytes.saturating_sub(index.covered());
        Error::new(
            gristmill_types::Kind::DataLoss,
            format!("{} behind the last record are no record", files::bytes(behind)),
        )
        .in_file(shown(file))
        .hint("'gristmill salvage IN OUT' leaves them out")
    })?;
    let mut sink = Stores::default().of(target)?.create(target)?;
    sink.write_all(index.to_text().as_bytes()).map_err(|e| StoreError::from_io(target, &e))?;
    sink.commit()?;
    Ok(IndexedFile { path: shown(file), index: shown(target), records: index.entries().len() as u64, bytes })
}

/// Walks over the headers.
fn build(reader: &mut Reader<'_>, file: &OsStr, progress: &dyn Progress) -> Result<Index> {
    let mut index = Index::new();
    loop {
        if index.entries().len().is_multiple_of(1024) {
            go_on(progress)?;
        }
        let before = reader.offset();
        match reader.seek_records(1) {
            Ok(0) => return Ok(index),
            Ok(_) => {
                let frame = reader.offset() - before;
                index.push_payload(frame.saturating_sub(gristmill_record::frame::OVERHEAD_BYTES as u64));
            }
            Err(error) => return Err(at_record(error, reader, file)),
        }
    }
}
