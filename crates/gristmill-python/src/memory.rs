//! The only place where addresses that NumPy gives are read.
#![allow(unsafe_code)]

use crate::error::invalid;
use gristmill_types::buffer::ALIGN;
use gristmill_types::{Buffer, DType, Shape, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::ptr::NonNull;

/// Address and shape of a C-contiguous array.
fn contiguous(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<(usize, Shape)> {
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
    let shape = Shape::new(&dims).map_err(|e| crate::error::to_py(&e))?;
    Ok((data.get_item(0)?.extract()?, shape))
}

/// A tensor over the memory of an array in which nobody writes any more; array and owner live as long as the
/// tensor's memory is in use.
///
/// # Errors
/// `InvalidArgument` as for [`tensor_of`], or if the array does not begin at a multiple of 64 bytes.
pub(crate) fn tensor_over(
    array: &Bound<'_, PyAny>,
    dtype: DType,
    owner: &Bound<'_, PyAny>,
) -> PyResult<Tensor> {
    let (address, shape) = contiguous(array, dtype)?;
    let len = shape.count() * dtype.size();
    let start = NonNull::new(address as *mut u8).filter(|_| address.is_multiple_of(ALIGN) && len > 0);
    let Some(start) = start else {
        return tensor_of(array, dtype);
    };
    let owner = Box::new((array.clone().unbind(), owner.clone().unbind()));
    // SAFETY: the array interface promises `len` bytes at this address as long as the array lives, which the owner
    // holds; the caller promises that nobody writes there until the owner is dropped.
    let buffer = unsafe { Buffer::over(start, len, owner) };
    Tensor::from_buffer(dtype, shape, buffer).map_err(|e| crate::error::to_py(&e))
}

/// A copy of a C-contiguous array in native byte order, as Python's side has made sure of; checked
/// again here as far as `__array_interface__` tells.
///
/// # Errors
/// `InvalidArgument` if the array is strided or its item size is not that of the dtype.
pub(crate) fn tensor_of(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Tensor> {
    let (address, shape) = contiguous(array, dtype)?;
    let len = shape.count() * dtype.size();
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
