//! Python values as attributes.

use crate::call::PyFunction;
use crate::error::to_py;
use crate::graph::PyGraph;
use crate::spec;
use crate::value::PyValue;
use gristmill::plan::{Attr, Attrs};
use gristmill_types::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The attribute that a Python value stands for. Dtypes and shapes are recognised by the methods
/// `_gm_dtype_` (a name) and `_gm_shape_` (a tuple or `None`) of their classes.
///
/// # Errors
/// `TypeError` for anything that is no attribute.
pub(crate) fn from_py(obj: &Bound<'_, PyAny>) -> PyResult<Attr> {
    if obj.is_none() {
        return Ok(Attr::None);
    }
    if let Ok(v) = obj.cast::<PyBool>() {
        return Ok(Attr::Bool(v.is_true()));
    }
    if obj.is_instance_of::<PyInt>() {
        return Ok(Attr::Int(obj.extract::<i64>()?));
    }
    if obj.is_instance_of::<PyFloat>() {
        return Ok(Attr::Float(obj.extract()?));
    }
    if obj.is_instance_of::<PyString>() {
        return Ok(Attr::Str(obj.extract()?));
    }
    if let Ok(bytes) = obj.cast::<PyBytes>() {
        return Ok(Attr::Str(String::from_utf8_lossy(bytes.as_bytes()).into_owned()));
    }
    if let Ok(items) = obj.cast::<PyList>() {
        return Ok(Attr::List(items.iter().map(|i| from_py(&i)).collect::<PyResult<_>>()?));
    }
    if let Ok(items) = obj.cast::<PyTuple>() {
        return Ok(Attr::List(items.iter().map(|i| from_py(&i)).collect::<PyResult<_>>()?));
    }
    if let Ok(entries) = obj.cast::<PyDict>() {
        let entries = entries.iter().map(|(k, v)| Ok((k.extract::<String>()?, from_py(&v)?)));
        return Ok(Attr::Dict(entries.collect::<PyResult<_>>()?));
    }
    if let Ok(v) = obj.cast::<PyValue>() {
        return Ok(Attr::Value(v.get().0.clone()));
    }
    if let Ok(g) = obj.cast::<PyGraph>() {
        return Ok(Attr::Graph(g.get().0.clone()));
    }
    if let Ok(f) = obj.cast::<PyFunction>() {
        return Ok(Attr::Foreign(f.get().0.clone()));
    }
    if let Ok(name) = obj.getattr("_gm_dtype_") {
        return Ok(Attr::DType(spec::dtype(&name.extract::<String>()?)?));
    }
    if let Ok(dims) = obj.getattr("_gm_shape_") {
        return Ok(Attr::Shape(spec::shape(&dims)?));
    }
    Err(to_py(&Error::new(
        Kind::Type,
        format!("a value of type {} is not accepted here", obj.get_type().name()?),
    )))
}

/// Named attributes from a dict; entries that are `None` are kept.
pub(crate) fn attrs(dict: &Bound<'_, PyDict>) -> PyResult<Attrs> {
    let entries = dict.iter().map(|(k, v)| Ok((k.extract::<String>()?, from_py(&v)?)));
    Ok(Attrs::new(entries.collect::<PyResult<_>>()?))
}
