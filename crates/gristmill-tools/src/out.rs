//! Record files being written: whole under their names, or not there.

use std::ffi::{OsStr, OsString};

use gristmill_record::{Compression, RecordWriter};
use gristmill_storage::{Sink, StoreError, Stores};
use gristmill_types::{Error, Kind, Result};
use serde::Serialize;

use crate::files::shown;

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutFile {
    /// The path.
    pub path: String,
    /// Records in it.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// How record files are written.
#[derive(Clone, Debug, Default)]
pub struct OutOptions {
    /// How the files are compressed; as the first input when `None`.
    pub compression: Option<Compression>,
    /// zlib's level, 0 to 9; 6 when `None`.
    pub level: Option<u32>,
    /// Replaces files that are there.
    pub overwrite: bool,
}

/// One file being written.
pub(crate) struct Out {
    path: OsString,
    writer: RecordWriter<Box<dyn Sink>>,
}

impl Out {
    pub(crate) fn create(path: &OsStr, compression: Compression, level: Option<u32>) -> Result<Self> {
        let sink = Stores::default().of(path)?.create(path)?;
        Ok(Self { path: path.to_owned(), writer: RecordWriter::new(sink, compression, level) })
    }

    pub(crate) fn write(&mut self, payload: &[u8]) -> Result<()> {
        self.writer.write(payload).map_err(|e| StoreError::from_io(&self.path, &e).into())
    }

    pub(crate) fn records(&self) -> u64 {
        self.writer.records()
    }
}

/// The files that a job writes. Files that are complete go away again when the job fails before its end.
pub(crate) struct Outputs {
    finished: Vec<OutFile>,
    paths: Vec<OsString>,
    kept: bool,
}

impl Outputs {
    pub(crate) fn new() -> Self {
        Self { finished: Vec::new(), paths: Vec::new(), kept: false }
    }

    /// Ends a file under its name.
    pub(crate) fn finish(&mut self, out: Out) -> Result<()> {
        let Out { path, writer } = out;
        let records = writer.records();
        let sink = writer.finish().map_err(|e| StoreError::from_io(&path, &e))?;
        sink.commit()?;
        self.paths.push(path.clone());
        // A pipe or a device has no size.
        let bytes = Stores::default().of(&path)?.size(&path).unwrap_or(0);
        self.finished.push(OutFile { path: shown(&path), records, bytes });
        Ok(())
    }

    /// All files of the job are there: they stay.
    pub(crate) fn keep(mut self) -> Vec<OutFile> {
        self.kept = true;
        std::mem::take(&mut self.finished)
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for path in &self.paths {
            if let Ok(store) = Stores::default().of(path)
                && is_regular(path)
            {
                // The job fails with its own error already.
                let _ = store.remove(path);
            }
        }
    }
}

fn is_regular(path: &OsStr) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file())
}

/// Refuses an output that is one of the inputs, and one that exists unless it may be replaced.
///
/// # Errors
/// `InvalidArgument`, `AlreadyExists`, `FailedPrecondition` for a directory.
pub(crate) fn check_target(path: &OsStr, inputs: &[OsString], overwrite: bool) -> Result<()> {
    let store = Stores::default();
    let store = store.of(path)?;
    let Ok(stat) = store.stat(path) else { return Ok(()) };
    if stat.is_dir {
        return Err(StoreError::is_directory(path).into());
    }
    if inputs.iter().any(|input| same_file(input, path)) {
        let message = format!("the output {} is an input too", path.to_string_lossy());
        return Err(Error::invalid(message).hint("write to another name"));
    }
    if !overwrite && is_regular(path) {
        let message = format!("{} exists already", path.to_string_lossy());
        return Err(Error::new(Kind::AlreadyExists, message).hint("--overwrite replaces it"));
    }
    Ok(())
}

fn same_file(a: &OsStr, b: &OsStr) -> bool {
    match (std::fs::canonicalize(a), std::fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b || is_linked(&a, &b),
        _ => false,
    }
}

/// Whether two names lead to one file.
#[cfg(unix)]
fn is_linked(a: &std::path::Path, b: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Whether two names lead to one file; only known by the names here.
#[cfg(not(unix))]
fn is_linked(_: &std::path::Path, _: &std::path::Path) -> bool {
    false
}

/// The names of `shards` files: `PREFIX-00000-of-00016.tfrecord`.
///
/// # Errors
/// `InvalidArgument` for 0 or more than 99999 shards.
pub(crate) fn shard_names(prefix: &OsStr, shards: u64) -> Result<Vec<OsString>> {
    if !(1..=99_999).contains(&shards) {
        return Err(Error::invalid(format!("expected 1 to 99999 shards, found {shards}")));
    }
    let name = |shard: u64| {
        let mut name = prefix.to_owned();
        name.push(format!("-{shard:05}-of-{shards:05}.tfrecord"));
        name
    };
    Ok((0..shards).map(name).collect())
}

/// Makes the directory that an output lies in.
pub(crate) fn make_parent(path: &OsStr) -> Result<()> {
    if let Some(parent) = std::path::Path::new(path).parent().filter(|p| !p.as_os_str().is_empty()) {
        let parent = parent.as_os_str();
        Stores::default().of(path)?.create_dir_all(parent)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shards() {
        let names = shard_names(OsStr::new("out/train"), 12).unwrap();
        assert_eq!(names[3], "out/train-00003-of-00012.tfrecord");
        assert!(shard_names(OsStr::new("x"), 0).is_err());
        assert!(shard_names(OsStr::new("x"), 100_000).is_err());
    }

    #[test]
    fn targets() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).into_os_string();
        std::fs::write(at("a"), b"").unwrap();
        std::fs::hard_link(at("a"), at("b")).unwrap();
        let kind = |path: &OsStr, inputs: &[OsString], overwrite| {
            check_target(path, inputs, overwrite).err().map(|e| e.kind())
        };
        assert_eq!(kind(&at("new"), &[at("a")], false), None);
        assert_eq!(kind(&at("a"), &[], false), Some(Kind::AlreadyExists));
        assert_eq!(kind(&at("a"), &[], true), None);
        assert_eq!(kind(&at("a"), &[at("a")], true), Some(Kind::InvalidArgument));
        assert_eq!(kind(&at("b"), &[at("a")], true), Some(Kind::InvalidArgument));
        assert_eq!(kind(dir.path().as_os_str(), &[], true), Some(Kind::FailedPrecondition));
    }

    #[test]
    fn a_job_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a").into_os_string();
        let mut outputs = Outputs::new();
        let mut out = Out::create(&path, Compression::None, None).unwrap();
        out.write(b"x").unwrap();
        outputs.finish(out).unwrap();
        assert!(std::fs::exists(&path).unwrap());
        drop(outputs);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
