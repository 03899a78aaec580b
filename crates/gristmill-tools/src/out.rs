//! Record files being written: whole under their names, or not there.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use gristmill_record::{Compression, RecordWriter};
use gristmill_storage::{Sink, StoreError, Stores};
use gristmill_types::{Error, Kind, Result};
use serde::Serialize;

use crate::files::{check_name, shown};

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

/// The files that a job writes. Files that are complete go away again when the job fails before its end; one that
/// replaces another waits under its temporary name until all are complete, so that the old files stay then.
pub(crate) struct Outputs {
    done: Vec<Done>,
    kept: bool,
}

struct Done {
    path: OsString,
    records: u64,
    /// What has still to be given its name.
    waiting: Option<Box<dyn Sink>>,
}

impl Outputs {
    pub(crate) fn new() -> Self {
        Self { done: Vec::new(), kept: false }
    }

    /// Ends a file.
    pub(crate) fn finish(&mut self, out: Out) -> Result<()> {
        let Out { path, writer } = out;
        let records = writer.records();
        let sink = writer.finish().map_err(|e| StoreError::from_io(&path, &e))?;
        let waiting = if is_regular(&path) {
            Some(sink)
        } else {
            sink.commit()?;
            None
        };
        self.done.push(Done { path, records, waiting });
        Ok(())
    }

    /// All files of the job are complete: they get their names and stay.
    ///
    /// # Errors
    /// What the store reports; files that have replaced others by then stay.
    pub(crate) fn keep(mut self) -> Result<Vec<OutFile>> {
        let mut files = Vec::with_capacity(self.done.len());
        self.kept = true;
        for done in std::mem::take(&mut self.done) {
            if let Some(sink) = done.waiting {
                sink.commit()?;
            }
            // A pipe or a device has no size.
            let bytes = Stores::default().of(&done.path)?.size(&done.path).unwrap_or(0);
            files.push(OutFile { path: shown(&done.path), records: done.records, bytes });
        }
        Ok(files)
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for Done { path, waiting, .. } in &self.done {
            if waiting.is_none()
                && let Ok(store) = Stores::default().of(path)
                && is_regular(path)
            {
                // The job fails with its own error already.
                let _ = store.remove(path);
            }
        }
    }
}

/// The path that the system knows a local file by: without `file://`.
pub(crate) fn local(path: &OsStr) -> &Path {
    let text = path.to_str().unwrap_or_default();
    match text.split_at_checked("file://".len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file://") => Path::new(rest),
        _ => Path::new(path),
    }
}

fn is_regular(path: &OsStr) -> bool {
    std::fs::metadata(local(path)).is_ok_and(|meta| meta.is_file())
}

/// Refuses an output that is one of the inputs, and one that exists unless it may be replaced.
///
/// # Errors
/// `InvalidArgument`, also for a directory; `AlreadyExists`.
pub(crate) fn check_target(path: &OsStr, inputs: &[OsString], overwrite: bool) -> Result<()> {
    check_name(path, "the output")?;
    if path.as_encoded_bytes().ends_with(b"/") {
        let message = format!("the output {} is a directory", path.to_string_lossy());
        return Err(Error::invalid(message).hint("give the name of a file"));
    }
    let store = Stores::default();
    let store = store.of(path)?;
    let Ok(stat) = store.stat(path) else { return Ok(()) };
    if stat.is_dir {
        let message = format!("the output {} is a directory", path.to_string_lossy());
        return Err(Error::invalid(message).hint("give the name of a file"));
    }
    if inputs.iter().any(|input| same_file(input, path)) {
        let message = format!("the output {} is an input too", path.to_string_lossy());
        return Err(Error::invalid(message).hint("write to another name"));
    }
    if !overwrite && is_regular(path) {
        let message = format!("{} exists already", path.to_string_lossy());
        return Err(Error::new(Kind::AlreadyExists, message).hint("overwrite=True replaces it"));
    }
    Ok(())
}

/// Whether two names lead to one file, or would if it were there.
pub(crate) fn same_place(a: &OsStr, b: &OsStr) -> bool {
    let real = |path: &OsStr| {
        let path = local(path);
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let parent = std::fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
        path.file_name().map(|name| parent.join(name))
    };
    same_file(a, b) || real(a).is_some_and(|a| real(b) == Some(a))
}

fn same_file(a: &OsStr, b: &OsStr) -> bool {
    match (std::fs::canonicalize(local(a)), std::fs::canonicalize(local(b))) {
        (Ok(a), Ok(b)) => a == b || is_linked(&a, &b),
        _ => false,
    }
}

/// Whether two names lead to one file.
#[cfg(unix)]
fn is_linked(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Whether two names lead to one file; only known by the names here.
#[cfg(not(unix))]
fn is_linked(_: &Path, _: &Path) -> bool {
    false
}

/// The names of `shards` files: `PREFIX-00000-of-00016.tfrecord`.
///
/// # Errors
/// `InvalidArgument` for 0 or more than 99999 shards, and for a prefix that names no file.
pub(crate) fn shard_names(prefix: &OsStr, shards: u64) -> Result<Vec<OsString>> {
    if !(1..=99_999).contains(&shards) {
        return Err(Error::invalid(format!("expected 1 to 99999 shards, found {shards}")));
    }
    if prefix.is_empty() || prefix.as_encoded_bytes().ends_with(b"/") {
        let message = format!("expected what file names begin with, found '{}'", prefix.to_string_lossy());
        return Err(Error::invalid(message).hint("out/train becomes out/train-00000-of-00016.tfrecord"));
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
    if let Some(parent) = Path::new(path).parent().filter(|p| !p.as_os_str().is_empty()) {
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
        assert!(shard_names(OsStr::new(""), 2).is_err());
        assert!(shard_names(OsStr::new("out/"), 2).is_err());
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
        assert_eq!(kind(dir.path().as_os_str(), &[], true), Some(Kind::InvalidArgument));
        assert_eq!(kind(&at("new/"), &[], true), Some(Kind::InvalidArgument));
        let mut url = OsString::from("file://");
        url.push(at("a"));
        assert_eq!(kind(&url, &[], false), Some(Kind::AlreadyExists));
        assert_eq!(kind(&url, &[at("a")], true), Some(Kind::InvalidArgument));
    }

    #[test]
    fn what_is_replaced_stays_until_all_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).into_os_string();
        let write = |outputs: &mut Outputs, name: &str| {
            let mut out = Out::create(&path(name), Compression::None, None).unwrap();
            out.write(b"new").unwrap();
            outputs.finish(out).unwrap();
        };
        std::fs::write(path("old"), "old").unwrap();
        let mut outputs = Outputs::new();
        write(&mut outputs, "old");
        write(&mut outputs, "fresh");
        drop(outputs);
        let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!((names, std::fs::read(path("old")).unwrap()), (vec!["old".into()], b"old".to_vec()));
        let mut outputs = Outputs::new();
        write(&mut outputs, "old");
        let files = outputs.keep().unwrap();
        assert_eq!((files[0].records, files[0].bytes), (1, 3 + 16));
        assert_eq!(std::fs::metadata(path("old")).unwrap().len(), 19);
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
