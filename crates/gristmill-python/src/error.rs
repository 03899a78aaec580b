//! gristmill's errors as the exception classes of `gristmill.errors`.

use crate::call::Raised;
use gristmill_types::{Error, Frame, Kind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::panic::{AssertUnwindSafe, catch_unwind};

static FACTORY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The name under which `gristmill.errors` knows a kind.
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::InvalidArgument => "InvalidArgumentError",
        Kind::DataLoss => "DataLossError",
        Kind::NotFound => "NotFoundError",
        Kind::PermissionDenied => "PermissionDeniedError",
        Kind::AlreadyExists => "AlreadyExistsError",
        Kind::FailedPrecondition => "FailedPreconditionError",
        Kind::ResourceExhausted => "ResourceExhaustedError",
        Kind::OutOfRange => "OutOfRangeError",
        Kind::Unimplemented => "UnimplementedError",
        Kind::Cancelled => "CancelledError",
        Kind::Type => "TypeError",
        Kind::Value => "ValueError",
        Kind::Internal => "InternalError",
        _ => "UnknownError",
    }
}

/// The whole text after the class name: message, places, hint.
fn text(e: &Error) -> String {
    let mut out = e.message().to_string();
    for frame in e.context() {
        out.push_str(&format!("\n  {frame}"));
    }
    if let Some(hint) = e.advice() {
        out.push_str(&format!("\n  hint: {hint}"));
    }
    out
}

/// The exception for an error.
pub(crate) fn to_py(e: &Error) -> PyErr {
    Python::attach(|py| {
        if let Some(raised) = e.raised().and_then(|r| r.downcast_ref::<Raised>()) {
            return raised.0.clone_ref(py);
        }
        let op = e.context().iter().find_map(|f| match f {
            Frame::Op { name, .. } => Some(name.clone()),
            _ => None,
        });
        let made = FACTORY
            .get_or_try_init(py, || {
                PyResult::Ok(py.import("gristmill.errors")?.getattr("_from_native")?.unbind())
            })
            .and_then(|f| {
                let args =
                    (kind_name(e.kind()), text(e), e.message(), e.path(), e.offset(), e.record_index(), op);
                f.bind(py).call1(args)
            });
        let made = match made {
            Ok(value) => PyErr::from_value(value),
            Err(_) => PyRuntimeError::new_err(text(e)),
        };
        if let Some(raised) = e.cause().and_then(|c| c.downcast_ref::<Raised>()) {
            made.set_cause(py, Some(raised.0.clone_ref(py)));
        }
        made
    })
}

/// An error for a value or argument that breaks a rule.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    to_py(&Error::invalid(message))
}

/// Runs `f`; errors and panics become exceptions.
pub(crate) fn guarded<T>(f: impl FnOnce() -> gristmill_types::Result<T>) -> PyResult<T> {
    unpanicked(f).map_err(|e| to_py(&e))
}

/// Runs `f`; a panic becomes an error.
pub(crate) fn unpanicked<T>(f: impl FnOnce() -> gristmill_types::Result<T>) -> gristmill_types::Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| Err(Error::from_panic(&*payload)))
}
