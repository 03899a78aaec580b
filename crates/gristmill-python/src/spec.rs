//! Specs and shapes as plain Python tuples: `("tensor", "float32", (None, 3))`,
//! `("sparse", dtype, shape)`, `("ragged", dtype, shape, ragged_rank)`; an unknown rank is `None`.

use crate::error::invalid;
use gristmill_types::{DType, PartialShape, Spec};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// The dtype of a name.
pub(crate) fn dtype(name: &str) -> PyResult<DType> {
    DType::from_name(name).ok_or_else(|| invalid(format!("there is no dtype '{name}'")))
}

/// A shape from `None` or a sequence of sizes and `None`.
pub(crate) fn shape(obj: &Bound<'_, PyAny>) -> PyResult<PartialShape> {
    if obj.is_none() {
        return Ok(PartialShape::UNKNOWN);
    }
    Ok(PartialShape::new(obj.extract::<Vec<Option<usize>>>()?))
}

/// A shape as `None` or a tuple of sizes and `None`.
pub(crate) fn shape_to_py<'py>(py: Python<'py>, shape: &PartialShape) -> PyResult<Bound<'py, PyAny>> {
    Ok(match shape.dims() {
        None => py.None().into_bound(py),
        Some(dims) => PyTuple::new(py, dims)?.into_any(),
    })
}

/// A spec from its tuple.
pub(crate) fn from_py(obj: &Bound<'_, PyAny>) -> PyResult<Spec> {
    let parts = obj.cast::<PyTuple>()?;
    let kind = parts.get_item(0)?;
    let dtype = dtype(&parts.get_item(1)?.extract::<String>()?)?;
    let shape = shape(&parts.get_item(2)?)?;
    match kind.cast::<PyString>()?.to_cow()?.as_ref() {
        "tensor" => Ok(Spec::Tensor { dtype, shape }),
        "sparse" => Ok(Spec::Sparse { dtype, shape }),
        "ragged" => Ok(Spec::Ragged { dtype, shape, ragged_rank: parts.get_item(3)?.extract()? }),
        other => Err(invalid(format!("there is no kind of spec '{other}'"))),
    }
}

/// The tuple of a spec.
pub(crate) fn to_py<'py>(py: Python<'py>, spec: &Spec) -> PyResult<Bound<'py, PyAny>> {
    let dtype = spec.dtype().name();
    let shape = shape_to_py(py, spec.shape())?;
    Ok(match spec {
        Spec::Sparse { .. } => ("sparse", dtype, shape).into_pyobject(py)?.into_any(),
        Spec::Ragged { ragged_rank, .. } => {
            ("ragged", dtype, shape, *ragged_rank).into_pyobject(py)?.into_any()
        }
        _ => ("tensor", dtype, shape).into_pyobject(py)?.into_any(),
    })
}
