//! Jobs on record files, and the command line. Reports come as JSON.

use crate::error::{to_py, unpanicked};
use gristmill_tools::index::index;
use gristmill_tools::info::infer_spec;
use gristmill_tools::pack::{Exif, Fit, OnError, PackOptions, pack};
use gristmill_tools::progress::Progress;
use gristmill_tools::salvage::salvage;
use gristmill_tools::verify::{VerifyOptions, verify};
use gristmill_tools::{Compression, OutOptions};
use gristmill_types::{Error, Kind, Result};
use pyo3::prelude::*;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a wait lasts before signals are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What a job tells, and whether it is to stop.
#[derive(Default)]
struct Watch {
    stop: AtomicBool,
    notes: Mutex<Vec<String>>,
}

impl Progress for Watch {
    fn phase(&self, _: &str, _: Option<u64>) {}

    fn advance(&self, _: u64, _: u64) {}

    fn note(&self, line: &str) {
        locked(&self.notes).push(line.to_owned());
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a job on a thread of its own while this one looks after signals: Ctrl-C stops the job, which tidies up. Gives
/// the report as JSON and the notes.
fn run<T: Serialize + Send>(
    py: Python<'_>,
    job: impl FnOnce(&dyn Progress) -> Result<T> + Send,
) -> PyResult<(String, Vec<String>)> {
    let watch = Watch::default();
    let result: Mutex<Option<Result<String>>> = Mutex::new(None);
    let finished = Condvar::new();
    let mut interrupted = None;
    let outcome = std::thread::scope(|scope| {
        let work = || {
            let report = unpanicked(|| {
                let report = job(&watch)?;
                serde_json::to_string(&report)
                    .map_err(|e| Error::internal(format!("a report is no JSON: {e}")))
            });
            *locked(&result) = Some(report);
            finished.notify_all();
        };
        let spawned = std::thread::Builder::new().spawn_scoped(scope, work);
        spawned.map_err(|e| Error::new(Kind::ResourceExhausted, format!("cannot start a thread: {e}")))?;
        loop {
            let done = py.detach(|| {
                let held = locked(&result);
                let waited = finished.wait_timeout_while(held, LOOK, |result| result.is_none());
                waited.unwrap_or_else(PoisonError::into_inner).0.take()
            });
            if let Some(done) = done {
                return done;
            }
            if interrupted.is_none()
                && let Err(error) = py.check_signals()
            {
                watch.stop.store(true, Ordering::Relaxed);
                interrupted = Some(error);
            }
        }
    });
    if let Some(error) = interrupted {
        return Err(error);
    }
    let report = outcome.map_err(|e| to_py(&e))?;
    let notes = std::mem::take(&mut *locked(&watch.notes));
    Ok((report, notes))
}

fn compression(name: &str) -> Result<Compression> {
    Compression::from_name(name).ok_or_else(|| {
        Error::new(Kind::Value, format!("compression_type must be '', 'GZIP' or 'ZLIB', found '{name}'"))
    })
}

/// One of a few words.
fn choice<T: Copy>(argument: &str, given: &str, choices: &[(&str, T)]) -> Result<T> {
    let found = choices.iter().find(|(name, _)| *name == given).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("'{name}'")).collect();
        Error::new(Kind::Value, format!("{argument} must be {}, found '{given}'", names.join(" or ")))
    })
}

/// Packs a folder or a manifest.
#[pyfunction]
fn tools_pack(
    py: Python<'_>,
    source: PathBuf,
    out: PathBuf,
    shards: Option<u32>,
    shard_size_mb: u64,
    resize: Option<(u32, u32)>,
    fit: &str,
    quality: u8,
    splits: Vec<(String, f64)>,
    seed: u64,
    shuffle: bool,
    compression_type: &str,
    on_error: &str,
    exif: &str,
    restart_index: bool,
    check: bool,
    threads: Option<usize>,
    overwrite: bool,
    durable: bool,
    name: Option<String>,
) -> PyResult<(String, Vec<String>)> {
    let options = || {
        Ok(PackOptions {
            shards,
            shard_size_mb,
            resize,
            fit: choice("fit", fit, &[("stretch", Fit::Stretch), ("crop", Fit::Crop)])?,
            quality,
            splits,
            seed,
            shuffle,
            compression: compression(compression_type)?,
            on_error: choice("on_error", on_error, &[("fail", OnError::Fail), ("skip", OnError::Skip)])?,
            exif: choice("exif", exif, &[("ignore", Exif::Ignore), ("apply", Exif::Apply)])?,
            restart_index,
            check,
            threads,
            overwrite,
            durable,
            name,
        })
    };
    let options = options().map_err(|e: Error| to_py(&e))?;
    run(py, |progress| pack(&source, &out, &options, progress))
}

/// What files of Examples hold.
#[pyfunction]
fn tools_infer_spec(
    py: Python<'_>,
    files: Vec<OsString>,
    limit: Option<u64>,
) -> PyResult<(String, Vec<String>)> {
    run(py, |progress| infer_spec(&files, limit, progress))
}

/// Checks files.
#[pyfunction]
fn tools_verify(py: Python<'_>, files: Vec<OsString>, decode: bool) -> PyResult<(String, Vec<String>)> {
    run(py, |progress| verify(&files, &VerifyOptions { decode }, progress))
}

/// Writes the intact records of a file to another.
#[pyfunction]
fn tools_salvage(
    py: Python<'_>,
    input: OsString,
    output: OsString,
    compression_type: Option<&str>,
    overwrite: bool,
) -> PyResult<(String, Vec<String>)> {
    let compression = compression_type.map(compression).transpose().map_err(|e| to_py(&e))?;
    let options = OutOptions { compression, overwrite, ..OutOptions::default() };
    run(py, |progress| salvage(&input, &output, &options, progress))
}

/// Writes the indexes of files.
#[pyfunction]
fn tools_index(
    py: Python<'_>,
    files: Vec<OsString>,
    into: Option<OsString>,
) -> PyResult<(String, Vec<String>)> {
    run(py, |progress| index(&files, into.as_deref(), progress))
}

/// Runs the command line, whose first item is the name of the program; gives the exit code.
#[pyfunction]
fn cli_main(py: Python<'_>, argv: Vec<OsString>) -> PyResult<i32> {
    py.detach(|| unpanicked(|| Ok(gristmill_cli::run(argv.into_iter())))).map_err(|e| to_py(&e))
}

/// Adds the functions to the module.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(tools_pack, m)?)?;
    m.add_function(wrap_pyfunction!(tools_infer_spec, m)?)?;
    m.add_function(wrap_pyfunction!(tools_verify, m)?)?;
    m.add_function(wrap_pyfunction!(tools_salvage, m)?)?;
    m.add_function(wrap_pyfunction!(tools_index, m)?)?;
    m.add_function(wrap_pyfunction!(cli_main, m)?)
}
