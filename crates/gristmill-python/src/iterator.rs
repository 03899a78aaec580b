//! Passes over a plan.

use crate::error::{guarded, to_py};
use crate::value::PyValue;
use gristmill::plan::Plan;
use gristmill::runtime::DatasetIterator;
use gristmill_types::{Error, Kind, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a wait lasts before signals are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// A pass over a plan.
#[pyclass(frozen, module = "gristmill._native", name = "PlanIterator")]
pub(crate) struct PyIterator(Mutex<Option<DatasetIterator>>);

impl PyIterator {
    /// A new pass; nothing runs before the first element is asked for.
    pub(crate) fn start(py: Python<'_>, plan: &Plan, state: Option<&[u8]>) -> gristmill_types::Result<Self> {
        let made = py.detach(|| match state {
            None => DatasetIterator::new(plan),
            Some(bytes) => DatasetIterator::resume(plan, bytes),
        })?;
        Ok(Self(Mutex::new(Some(made))))
    }

    fn lock(&self) -> MutexGuard<'_, Option<DatasetIterator>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut DatasetIterator) -> T + Send) -> PyResult<T> {
        py.detach(|| {
            guarded(|| match self.lock().as_mut() {
                Some(it) => Ok(f(it)),
                None => Err(Error::new(Kind::Cancelled, "the iterator was closed")),
            })
        })
    }
}

#[pymethods]
impl PyIterator {
    /// The components of the next element in flattening order; `None` at the end. Signals interrupt
    /// the wait.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<PyValue>>> {
        loop {
            let polled: Option<Option<gristmill_types::Result<Vec<Value>>>> =
                self.with(py, |it| it.poll_element(LOOK))?;
            match polled {
                None => py.check_signals()?,
                Some(None) => return Ok(None),
                Some(Some(element)) => {
                    let values = element.map_err(|e| to_py(&e))?;
                    return Ok(Some(values.into_iter().map(PyValue).collect()));
                }
            }
        }
    }

    /// Where the pass is.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |it| it.state())?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// What each stage did, and the seconds since the start.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<(Vec<Bound<'py, PyDict>>, f64)> {
        let (stages, seconds) = self.with(py, |it| it.report())?;
        let rows = stages.into_iter().map(|s| {
            let row = PyDict::new(py);
            row.set_item("name", s.name)?;
            for (key, n) in [
                ("elements", s.elements),
                ("blocks", s.blocks),
                ("errors", s.errors),
                ("busy_ns", s.busy_ns),
                ("wait_ns", s.wait_ns),
                ("bytes_out", s.bytes_out),
                ("bytes_written", s.bytes_written),
                ("bytes_copied", s.bytes_copied),
                ("bytes_held", s.bytes_held),
            ] {
                row.set_item(key, n)?;
            }
            Ok(row)
        });
        Ok((rows.collect::<PyResult<_>>()?, seconds))
    }

    /// Warnings since the last call.
    fn take_warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |it| it.take_warnings())
    }

    /// Stops the pass and its threads.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl Drop for PyIterator {
    /// Threads of the pass are waited for without the interpreter lock.
    fn drop(&mut self) {
        if let Some(it) = self.lock().take() {
            Python::attach(|py| py.detach(|| drop(it)));
        }
    }
}
