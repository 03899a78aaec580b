//! Files by path, and the writer of record files.

use crate::error::{invalid, to_py};
use gristmill::record::Compression;
use gristmill::storage::{Sink, StoreError, Stores};
use gristmill_types::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

fn store_error(e: &StoreError) -> PyErr {
    to_py(&e.clone().into())
}

/// Runs `f` with the store of a path, without the interpreter lock.
fn with_store<T: Send>(
    py: Python<'_>,
    path: &OsStr,
    f: impl FnOnce(&dyn gristmill::storage::Store) -> gristmill::storage::Result<T> + Send,
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
    let modified =
        s.modified.and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map_or(0.0, |d| d.as_secs_f64());
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
    let data = with_store(py, &path, |s| gristmill::storage::read_file(s, &path))?;
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

/// A writer over the file that it makes.
type Writer = gristmill::record::RecordWriter<Box<dyn Sink>>;

/// Writes record files; the file appears under its name on `close` or the first `flush`. After a
/// failure the writer is closed without a file: what it wrote ends inside a record.
#[pyclass(frozen, module = "gristmill._native")]
pub(crate) struct RecordWriter {
    path: OsString,
    inner: Mutex<Option<Writer>>,
}

impl RecordWriter {
    /// Runs `f` with the writer, without the interpreter lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Writer) -> gristmill::storage::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut slot = self.lock();
            let Some(writer) = slot.as_mut() else {
                return Err(Error::new(Kind::FailedPrecondition, "the writer is closed")
                    .in_file(self.path.to_string_lossy()));
            };
            let done = f(writer);
            if done.is_err() {
                *slot = None;
            }
            done.map_err(Error::from)
        })
        .map_err(|e| to_py(&e))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Writer>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl RecordWriter {
    /// Begins a file. `compression` is `""`, `"GZIP"` or `"ZLIB"`; `level` is zlib's.
    #[new]
    fn new(py: Python<'_>, path: OsString, compression: &str, level: Option<u32>) -> PyResult<Self> {
        let kind = Compression::from_name(compression).ok_or_else(|| {
            invalid(format!("compression_type must be '', 'GZIP' or 'ZLIB', found '{compression}'"))
        })?;
        let sink = with_store(py, &path, |s| s.create(&path))?;
        let writer = gristmill::record::RecordWriter::new(sink, kind, level);
        Ok(Self { path, inner: Mutex::new(Some(writer)) })
    }

    /// Appends one record.
    fn write(&self, py: Python<'_>, record: &[u8]) -> PyResult<()> {
        self.with(py, |w| w.write(record).map_err(|e| StoreError::from_io(&self.path, &e)))
    }

    /// Makes complete records readable under the file's name.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |w| {
            w.flush().map_err(|e| StoreError::from_io(&self.path, &e))?;
            w.get_mut().publish()
        })
    }

    /// Ends the file under its name; closing twice is harmless.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let Some(writer) = self.lock().take() else {
                return Ok(());
            };
            writer.finish().map_err(|e| StoreError::from_io(&self.path, &e)).and_then(|sink| sink.commit())
        })
        .map_err(|e| store_error(&e))
    }

    /// Ends without a file, unless it was flushed.
    fn discard(&self) {
        *self.lock() = None;
    }

    /// Records written.
    #[getter]
    fn records(&self) -> u64 {
        self.lock().as_ref().map_or(0, Writer::records)
    }
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
