//! The only place where addresses that NumPy gives are read.
#![allow(unsafe_code)]

use crate::error::invalid;
use gristmill_types::{DType, Shape, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// A copy of a C-contiguous array in native byte order, as Python's side has made sure of; checked
/// again here as far as `__array_interface__` tells.
///
/// # Errors
/// `InvalidArgument` if the array is strided or its item size is not that of the dtype.
pub(crate) fn tensor_of(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Tensor> {
    let interface = array.getattr("__array_interface__")?.cast_into::<PyDict>()?;
    let need =
        |key: &str| interface.get_item(key)?.ok_or_else(|| invalid(format!("the array has no '{key}'")));
    let dims: Vec<usize> = need("shape")?.extract()?;
    let typestr: String = need("typestr")?.extract()?;
    let size: usize = typestr.get(2..).and_then(|s| s.parse().ok()).unwrap_or(0);
    let strided = interface.get_item("strides")?.is_some_and(|s| !s.is_none());
    if strided || size != dtype.size() || size == 0 || typestr.starts_with('>') {
        return Err(invalid(format!("an array of type {typestr} is not a contiguous {dtype} array")));
    }
    let data = need("data")?.cast_into::<PyTuple>()?;
    let address: usize = data.get_item(0)?.extract()?;
    let shape = Shape::new(&dims).map_err(|e| crate::error::to_py(&e))?;
    let len = shape.count() * size;
    let bytes: &[u8] = if len == 0 {
        &[]
    } else {
        // SAFETY: the array interface promises `len` readable bytes at this address as long as the
        // array lives, which the caller's reference makes sure of; they are copied before return.
        unsafe { std::slice::from_raw_parts(address as *const u8, len) }
    };
    Tensor::from_bytes(dtype, shape, bytes).map_err(|e| crate::error::to_py(&e))
}

/// Puts byte strings into a fresh array of objects, as many as it has elements: several times faster than
/// making a list that NumPy then takes apart.
///
/// # Errors
/// `InvalidArgument` if the array is strided, read-only, not of objects, or of another size.
pub(crate) fn fill_objects<'a>(
    array: &Bound<'_, PyAny>,
    items: impl ExactSizeIterator<Item = &'a [u8]>,
) -> PyResult<()> {
    let py = array.py();
    let interface = array.getattr("__array_interface__")?.cast_into::<PyDict>()?;
    let need =
        |key: &str| interface.get_item(key)?.ok_or_else(|| invalid(format!("the array has no '{key}'")));
    let dims: Vec<usize> = need("shape")?.extract()?;
    let typestr: String = need("typestr")?.extract()?;
    let strided = interface.get_item("strides")?.is_some_and(|s| !s.is_none());
    let (address, read_only): (usize, bool) = need("data")?.extract()?;
    let n = items.len();
    if strided || read_only || typestr != "|O" || dims.iter().product::<usize>() != n {
        return Err(invalid(format!("{n} strings do not fit an array of type {typestr} and shape {dims:?}")));
    }
    let slots = address as *mut *mut pyo3::ffi::PyObject;
    for (i, item) in items.enumerate() {
        let made = PyBytes::new(py, item).into_ptr();
        // SAFETY: NumPy's arrays of objects are memory of that many pointers, each NULL or a reference that the
        // array owns; the array lives as long as the caller's reference and, since the interpreter is attached,
        // nobody else touches it. The slot takes the new reference over and gives up the old one.
        unsafe {
            let slot = slots.add(i);
            let old = std::ptr::replace(slot, made);
            pyo3::ffi::Py_XDECREF(old);
        }
    }
    Ok(())
}
