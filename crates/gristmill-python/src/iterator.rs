//! Passes over a plan.

use crate::call::linger;
use crate::error::{guarded, to_py, unpanicked};
use crate::value::{PyValue, for_numpy};
use gristmill::plan::Plan;
use gristmill::runtime::DatasetIterator;
use gristmill_types::{Error, Kind, Value, process};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a wait lasts before signals are looked at.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// A pass over a plan.
#[pyclass(frozen, module = "gristmill._native", name = "PlanIterator")]
pub(crate) struct PyIterator {
    inner: Mutex<Option<DatasetIterator>>,
    /// The process whose threads work for the pass.
    owner: u32,
}

impl PyIterator {
    /// A new pass; nothing runs before the first element is asked for.
    pub(crate) fn start(py: Python<'_>, plan: &Plan, state: Option<&[u8]>) -> gristmill_types::Result<Self> {
        let made = py.detach(|| {
            unpanicked(|| match state {
                None => DatasetIterator::new(plan),
                Some(bytes) => DatasetIterator::resume(plan, bytes),
            })
        })?;
        Ok(Self { inner: Mutex::new(Some(made)), owner: process::id() })
    }

    /// Refused before any lock: in a forked child a thread that is gone may hold it for ever.
    fn check_process(&self) -> gristmill_types::Result<()> {
        if self.owner == process::id() {
            return Ok(());
        }
        Err(Error::new(
            Kind::FailedPrecondition,
            "this iterator was made in another process and does not survive fork()",
        )
        .hint("make the iterator after the fork: the dataset itself may be used on both sides"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<DatasetIterator>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next element if it is ready now: taken without giving the interpreter lock away, which
    /// would cost more than taking it.
    fn ready(&self) -> PyResult<Option<Option<gristmill_types::Result<Vec<Value>>>>> {
        guarded(|| {
            self.check_process()?;
            match self.inner.try_lock() {
                Ok(mut held) => match held.as_mut() {
                    Some(it) if it.is_buffered() => Ok(it.poll_element(Duration::ZERO)),
                    Some(_) => Ok(None),
                    None => Err(Error::new(Kind::Cancelled, "the iterator was closed")),
                },
                Err(_) => Ok(None),
            }
        })
    }

    /// The components of the next element; `None` at the end.
    fn values(&self, py: Python<'_>) -> PyResult<Option<Vec<Value>>> {
        let mut ready = self.ready()?;
        loop {
            let polled: Option<Option<gristmill_types::Result<Vec<Value>>>> = match ready.take() {
                Some(element) => Some(element),
                None => self.with(py, |it| it.poll_element(LOOK))?,
            };
            match polled {
                None => py.check_signals()?,
                Some(None) => return Ok(None),
                Some(Some(element)) => {
                    let values = element.map_err(|e| {
                        linger(py, &e);
                        to_py(&e)
                    })?;
                    return Ok(Some(values));
                }
            }
        }
    }

    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut DatasetIterator) -> T + Send) -> PyResult<T> {
        py.detach(|| {
            guarded(|| {
                self.check_process()?;
                match self.lock().as_mut() {
                    Some(it) => Ok(f(it)),
                    None => Err(Error::new(Kind::Cancelled, "the iterator was closed")),
                }
            })
        })
    }
}

#[pymethods]
impl PyIterator {
    /// The components of the next element in flattening order; `None` at the end. Signals interrupt
    /// the wait.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Vec<PyValue>>> {
        Ok(self.values(py)?.map(|values| values.into_iter().map(PyValue).collect()))
    }

    /// The same, each as [`for_numpy`] has it.
    fn next_for_numpy<'py>(&self, py: Python<'py>, views: bool) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(values) = self.values(py)? else { return Ok(None) };
        let list = PyList::empty(py);
        values.into_iter().try_for_each(|v| list.append(for_numpy(py, v, views)?))?;
        Ok(Some(list))
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
            row.set_item("name", &s.name)?;
            for (key, n) in s.counters() {
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
        if self.check_process().is_ok() {
            py.detach(|| drop(self.lock().take()));
        }
    }
}

impl Drop for PyIterator {
    /// Threads of the pass are waited for without the interpreter lock. In a forked child the pass
    /// is left as it is: its locks may be held for ever.
    fn drop(&mut self) {
        let slot = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(it) = slot.take() else { return };
        if self.owner != process::id() {
            std::mem::forget(it);
        } else {
            Python::attach(|py| py.detach(|| drop(it)));
        }
    }
}
