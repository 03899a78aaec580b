//! Files by path, and the writer of record files.

use crate::error::{invalid, to_py};
use gristmill_record::Compression;
use gristmill_storage::{Sink, StoreError, StoreErrorKind, Stores};
use gristmill_types::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::time::UNIX_EPOCH;

fn store_error(e: &StoreError) -> PyErr {
    let kind = match e.kind {
        StoreErrorKind::NotFound => Kind::NotFound,
        StoreErrorKind::PermissionDenied => Kind::PermissionDenied,
        StoreErrorKind::IsDirectory | StoreErrorKind::NotDirectory => Kind::FailedPrecondition,
        StoreErrorKind::NoSpace => Kind::ResourceExhausted,
        StoreErrorKind::Unsupported => Kind::Unimplemented,
        _ => Kind::Unknown,
    };
    let path = e.path.to_string_lossy().into_owned();
    to_py(&Error::new(kind, e.to_string()).in_file(path))
}

fn io_error(path: &OsStr, e: &io::Error) -> PyErr {
    store_error(&StoreError::from_io(path, e))
}

/// Runs `f` with the store of a path, without the interpreter lock.
fn with_store<T: Send>(
    py: Python<'_>,
    path: &OsStr,
    f: impl FnOnce(&dyn gristmill_storage::Store) -> gristmill_storage::Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let stores = Stores::default();
        f(&**stores.of(path)?)
    })
    .map_err(|e| store_error(&e))
}

/// Every path that matches the pattern, sorted by bytes.
#[pyfunction]
fn glob(py: Python<'_>, pattern: OsString) -> PyResult<Vec<OsString>> {
    with_store(py, &pattern, |s| s.glob(&pattern))
}

/// Whether there is a file or directory.
#[pyfunction]
fn exists(py: Python<'_>, path: OsString) -> PyResult<bool> {
    with_store(py, &path, |s| Ok(s.exists(&path)))
}

/// Whether there is a directory.
#[pyfunction]
fn isdir(py: Python<'_>, path: OsString) -> PyResult<bool> {
    with_store(py, &path, |s| Ok(s.is_dir(&path)))
}

/// Bytes, whether it is a directory, and seconds since 1970 of the last change.
#[pyfunction]
fn stat(py: Python<'_>, path: OsString) -> PyResult<(u64, bool, f64)> {
    let s = with_store(py, &path, |s| s.stat(&path))?;
    let modified = s.modified.and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0.0, |d| d.as_secs_f64());
    Ok((s.bytes, s.is_dir, modified))
}

/// Names in a directory, and which are directories.
#[pyfunction]
fn listdir(py: Python<'_>, path: OsString) -> PyResult<Vec<(OsString, bool)>> {
    let entries = with_store(py, &path, |s| s.list_dir(&path))?;
    Ok(entries.into_iter().map(|e| (e.name, e.is_dir)).collect())
}

/// Every file below a directory, sorted by bytes.
#[pyfunction]
fn walk_files(py: Python<'_>, path: OsString) -> PyResult<Vec<OsString>> {
    with_store(py, &path, |s| s.walk(&path))
}

/// Makes a directory and those above it.
#[pyfunction]
fn makedirs(py: Python<'_>, path: OsString) -> PyResult<()> {
    with_store(py, &path, |s| s.create_dir_all(&path))
}

/// Removes a file.
#[pyfunction]
fn remove(py: Python<'_>, path: OsString) -> PyResult<()> {
    with_store(py, &path, |s| s.remove(&path))
}

/// Removes a directory and all in it.
#[pyfunction]
fn rmtree(py: Python<'_>, path: OsString) -> PyResult<()> {
    with_store(py, &path, |s| s.remove_dir_all(&path))
}

/// Gives a file another name.
#[pyfunction]
fn rename(py: Python<'_>, source: OsString, target: OsString) -> PyResult<()> {
    with_store(py, &source, |s| s.rename(&source, &target))
}

/// Copies a file.
#[pyfunction]
fn copy(py: Python<'_>, source: OsString, target: OsString) -> PyResult<u64> {
    with_store(py, &source, |s| s.copy(&source, &target))
}

/// The contents of a file.
#[pyfunction]
fn read_file(py: Python<'_>, path: OsString) -> PyResult<Bound<'_, PyBytes>> {
    let data = with_store(py, &path, |s| gristmill_storage::read_file(s, &path))?;
    Ok(PyBytes::new(py, &data))
}

/// Writes a file as a whole.
#[pyfunction]
fn write_file(py: Python<'_>, path: OsString, data: &[u8]) -> PyResult<()> {
    with_store(py, &path, |s| {
        let mut sink = s.create(&path)?;
        sink.write_all(data).map_err(|e| StoreError::from_io(&path, &e))?;
        sink.commit()
    })
}

/// Writes record files; the file appears under its name on `close` or the first `flush`.
#[pyclass(module = "gristmill._native")]
pub(crate) struct RecordWriter {
    path: OsString,
    inner: Option<gristmill_record::RecordWriter<Box<dyn Sink>>>,
}

#[pymethods]
impl RecordWriter {
    /// Begins a file. `compression` is `""`, `"GZIP"` or `"ZLIB"`; `level` is zlib's.
    #[new]
    fn new(py: Python<'_>, path: OsString, compression: &str, level: Option<u32>) -> PyResult<Self> {
        let kind = Compression::from_name(compression)
            .ok_or_else(|| invalid(format!("compression_type must be '', 'GZIP' or 'ZLIB', found '{compression}'")))?;
        let sink = with_store(py, &path, |s| s.create(&path))?;
        Ok(Self { path, inner: Some(gristmill_record::RecordWriter::new(sink, kind, level)) })
    }

    /// Appends one record.
    fn write(&mut self, record: &[u8]) -> PyResult<()> {
        let Self { path, inner } = self;
        let writer = inner.as_mut().ok_or_else(|| closed(path))?;
        writer.write(record).map_err(|e| io_error(path, &e))
    }

    /// Makes complete records readable under the file's name.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let Self { path, inner } = self;
        let writer = inner.as_mut().ok_or_else(|| closed(path))?;
        py.detach(|| {
            writer.flush().map_err(|e| StoreError::from_io(path, &e))?;
            writer.get_mut().publish()
        })
        .map_err(|e| store_error(&e))
    }

    /// Ends the file under its name; closing twice is harmless.
    fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let Self { path, inner } = self;
        let Some(writer) = inner.take() else { return Ok(()) };
        py.detach(|| writer.finish().map_err(|e| StoreError::from_io(path, &e)).and_then(|sink| sink.commit()))
            .map_err(|e| store_error(&e))
    }

    /// Ends without a file, unless it was flushed.
    fn discard(&mut self) {
        self.inner = None;
    }

    /// Records written.
    #[getter]
    fn records(&self) -> u64 {
        self.inner.as_ref().map_or(0, gristmill_record::RecordWriter::records)
    }
}

fn closed(path: &OsStr) -> PyErr {
    let path = path.to_string_lossy().into_owned();
    to_py(&Error::new(Kind::FailedPrecondition, "the writer is closed").in_file(path))
}

/// Adds the functions to the module.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(glob, m)?)?;
    m.add_function(wrap_pyfunction!(exists, m)?)?;
    m.add_function(wrap_pyfunction!(isdir, m)?)?;
    m.add_function(wrap_pyfunction!(stat, m)?)?;
    m.add_function(wrap_pyfunction!(listdir, m)?)?;
    m.add_function(wrap_pyfunction!(walk_files, m)?)?;
    m.add_function(wrap_pyfunction!(makedirs, m)?)?;
    m.add_function(wrap_pyfunction!(remove, m)?)?;
    m.add_function(wrap_pyfunction!(rmtree, m)?)?;
    m.add_function(wrap_pyfunction!(rename, m)?)?;
    m.add_function(wrap_pyfunction!(copy, m)?)?;
    m.add_function(wrap_pyfunction!(read_file, m)?)?;
    m.add_function(wrap_pyfunction!(write_file, m)?)
}
