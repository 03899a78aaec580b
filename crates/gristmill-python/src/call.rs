//! The user's Python functions as functions of the engine.

use crate::error::invalid;
use crate::value::PyValue;
use gristmill::plan::Foreign;
use gristmill_types::process::PerProcess;
use gristmill_types::{Error, Kind, Result, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Who is in Python code or about to enter it, and whether anybody still may.
#[derive(Default)]
struct Inside {
    /// Numbers of the stays, each with Python's number of its thread: 0 until it is known.
    stays: Vec<(u64, u64)>,
    next: u64,
    closed: bool,
}

impl Inside {
    fn threads(&self) -> Vec<u64> {
        self.stays.iter().map(|(_, thread)| *thread).filter(|t| *t != 0).collect()
    }
}

#[derive(Default)]
struct Door {
    inside: Mutex<Inside>,
    left: Condvar,
}

static DOOR: PerProcess<Door> = PerProcess::new();

impl Door {
    fn get() -> &'static Self {
        DOOR.get(Self::default)
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One stay of a thread in Python code. It begins before the thread asks for the interpreter and ends while it still
/// has it, so that an interpreter whose end waits for all of them meets no thread on its way in.
struct Stay {
    door: &'static Door,
    number: u64,
}

impl Stay {
    /// `None` once the door is closed.
    fn begin() -> Option<Self> {
        let door = Door::get();
        let mut inside = door.lock();
        if inside.closed {
            return None;
        }
        let number = inside.next;
        inside.next += 1;
        inside.stays.push((number, 0));
        Some(Self { door, number })
    }

    /// Notes which thread it is; says whether the door is still open.
    fn of_thread(&self, thread: u64) -> bool {
        let mut inside = self.door.lock();
        if let Some(stay) = inside.stays.iter_mut().find(|(number, _)| *number == self.number) {
            stay.1 = thread;
        }
        !inside.closed
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.door.lock().stays.retain(|(number, _)| *number != self.number);
        self.door.left.notify_all();
    }
}

fn closed() -> Error {
    Error::new(
        Kind::Cancelled,
        "the interpreter is ending: no Python function of a pipeline is called any more",
    )
}

/// How long threads beside the main one wait before they say that the interpreter is ending: most never do.
const LINGER: Duration = Duration::from_secs(2);

/// Before a reader is told that no function is called any more: on a thread beside the main one at the end of a
/// program nobody is left to hear it, and the traceback would only stand there sometimes.
pub(crate) fn linger(py: Python<'_>, e: &Error) {
    if e.kind() != Kind::Cancelled || !Door::get().lock().closed {
        return;
    }
    let main = || -> PyResult<bool> {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?;
        Ok(main.is(&threading.call_method0("current_thread")?))
    };
    if !main().unwrap_or(true) {
        py.detach(|| std::thread::sleep(LINGER));
    }
}

/// What a function raised. Where it is meant to end the program it is raised again where the element was asked
/// for; else it is the cause of what is raised there.
pub(crate) struct Raised(pub(crate) PyErr);

/// A Python object that takes values and returns a list of values, or an error's kind and text, and what was raised.
#[derive(Debug)]
pub(crate) struct Function {
    object: Py<PyAny>,
    name: String,
    identity: Vec<u8>,
}

impl Function {
    fn run(&self, py: Python<'_>, inputs: &[Value]) -> PyResult<Result<Vec<Value>>> {
        let args = PyTuple::new(py, inputs.iter().map(|v| PyValue(v.clone())))?;
        let out = self.object.bind(py).call1(args)?;
        if let Ok(values) = out.cast::<PyList>() {
            let values = values.iter().map(|v| Ok(v.cast::<PyValue>()?.get().0.clone()));
            return Ok(Ok(values.collect::<PyResult<_>>()?));
        }
        let (kind, text, raised): (String, String, Bound<'_, PyAny>) = out.extract()?;
        let kind = match kind.as_str() {
            "invalid_argument" => Kind::InvalidArgument,
            "resource_exhausted" => Kind::ResourceExhausted,
            "unimplemented" => Kind::Unimplemented,
            _ => Kind::Unknown,
        };
        Ok(Err(Error::new(kind, text).caused_by(Arc::new(Raised(PyErr::from_value(raised))))))
    }
}

impl Foreign for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &[u8] {
        &self.identity
    }

    fn call(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let called = Python::try_attach(|py| {
            // What Python's side does not catch is meant for the program, not for the pipeline.
            self.run(py, inputs).unwrap_or_else(|e| {
                let text = format!("{} raised {e}", self.name);
                Err(Error::new(Kind::Cancelled, text).raising(Arc::new(Raised(e))))
            })
        });
        called.unwrap_or_else(|| Err(closed()))
    }

    fn hold(&self, work: &mut dyn FnMut()) -> Result<()> {
        let stay = Stay::begin().ok_or_else(closed)?;
        let held = Python::try_attach(move |py| {
            let ident = py.import("threading").and_then(|m| m.call_method0("get_ident")?.extract());
            // It may have been closed while this thread waited for the interpreter.
            let open = stay.of_thread(ident.unwrap_or(0));
            if open {
                work();
            }
            // Before the interpreter is given back: whoever waits to end it is then the next to have it.
            drop(stay);
            open
        });
        if held == Some(true) { Ok(()) } else { Err(closed()) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A Python function as an attribute of an op.
#[pyclass(frozen, module = "gristmill._native", name = "Function")]
pub(crate) struct PyFunction(pub(crate) Arc<dyn Foreign>);

#[pymethods]
impl PyFunction {
    /// `object` takes values and returns a list of values, or an error's kind and text, and what was
    /// raised; `identity`
    /// tells it from others in fingerprints.
    #[new]
    fn new(object: Py<PyAny>, name: String, identity: &Bound<'_, PyBytes>) -> Self {
        Self(Arc::new(Function { object, name, identity: identity.as_bytes().to_vec() }))
    }

    fn __repr__(&self) -> String {
        format!("<function {}>", self.0.name())
    }

    /// Pickled as what it was made of.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let Some(f) = slf.get().0.as_any().downcast_ref::<Function>() else {
            return Err(invalid("the function is not one of Python's"));
        };
        let args = (f.object.clone_ref(py), f.name.clone(), PyBytes::new(py, &f.identity));
        Ok((slf.get_type().into_any(), args.into_pyobject(py)?))
    }
}

/// Lets no more Python function of a pipeline be called, and waits at most that many seconds for those that
/// are running; gives Python's numbers of the threads that still are.
#[pyfunction]
fn end_functions(py: Python<'_>, seconds: f64) -> Vec<u64> {
    py.detach(|| {
        let door = Door::get();
        let end = Instant::now() + Duration::from_secs_f64(seconds.clamp(0.0, 3600.0));
        let mut inside = door.lock();
        inside.closed = true;
        while !inside.stays.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            inside = door.left.wait_timeout(inside, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        inside.threads()
    })
}

/// Adds the class and the function to the module.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyFunction>()?;
    m.add_function(wrap_pyfunction!(end_functions, m)?)
}
