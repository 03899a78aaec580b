//! Strings as `memoryview`s of the engine's memory.
//!
//! The limited API has the buffer slots from Python 3.11 on. Earlier versions take them from a type specification as
//! well (`PyType_FromSpec` since 3.9), and `Py_buffer` has the same fields there, so both are written out here.
#![allow(unsafe_code)]

use gristmill_types::{Bytes, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

/// Py_bf_getbuffer (Include/typeslots.h).
const GET_BUFFER: c_int = 1;
/// Py_TPFLAGS_DISALLOW_INSTANTIATION, Py_TPFLAGS_IMMUTABLETYPE (Include/object.h, Python 3.10).
const NOT_FROM_PYTHON: c_ulong = 1 << 7 | 1 << 8;
/// PyBUF_WRITABLE, PyBUF_FORMAT, PyBUF_ND, PyBUF_STRIDES (Include/pybuffer.h).
const WRITABLE: c_int = 0x1;
const FORMAT: c_int = 0x4;
const ND: c_int = 0x8;
const STRIDES: c_int = 0x10 | ND;

/// Py_buffer.
#[repr(C)]
struct View {
    buf: *mut c_void,
    obj: *mut ffi::PyObject,
    len: isize,
    itemsize: isize,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

/// A Python object that lets others look at a string and keeps its memory.
#[repr(C)]
struct Exporter {
    head: ffi::PyObject,
    string: Bytes,
}

unsafe extern "C" fn get_buffer(object: *mut ffi::PyObject, view: *mut View, flags: c_int) -> c_int {
    // SAFETY: Python calls this with an object of the type that `exporter_type` made, whose string `view_of` wrote
    // before anybody saw it, and with a view to be filled; the interpreter is attached. The addresses in the view
    // stay valid as long as it holds the object.
    unsafe {
        if flags & WRITABLE != 0 {
            (*view).obj = std::ptr::null_mut();
            PyBufferError::new_err("the engine's memory cannot be written")
                .restore(Python::assume_attached());
            return -1;
        }
        let string = (*object.cast::<Exporter>()).string.as_slice();
        let asked = |what: c_int, given: *mut isize| {
            if flags & what == what { given } else { std::ptr::null_mut() }
        };
        view.write(View {
            buf: string.as_ptr().cast_mut().cast(),
            obj: ffi::Py_NewRef(object),
            len: string.len() as isize,
            itemsize: 1,
            readonly: 1,
            ndim: 1,
            format: if flags & FORMAT != 0 { c"B".as_ptr().cast_mut() } else { std::ptr::null_mut() },
            shape: asked(ND, &raw mut (*view).len),
            strides: asked(STRIDES, &raw mut (*view).itemsize),
            suboffsets: std::ptr::null_mut(),
            internal: std::ptr::null_mut(),
        });
    }
    0
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: called once, for an object of this type that nobody refers to any more; its memory is of
    // PyType_GenericAlloc, and it holds a reference to its type as all objects of heap types.
    unsafe {
        let class = ffi::Py_TYPE(object);
        std::ptr::drop_in_place(&raw mut (*object.cast::<Exporter>()).string);
        ffi::PyObject_Free(object.cast());
        ffi::Py_DECREF(class.cast());
    }
}

fn exporter_type(py: Python<'_>) -> PyResult<*mut ffi::PyTypeObject> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let mut slots = [
            ffi::PyType_Slot { slot: ffi::Py_tp_dealloc, pfunc: dealloc as *mut c_void },
            ffi::PyType_Slot { slot: GET_BUFFER, pfunc: get_buffer as *mut c_void },
            ffi::PyType_Slot { slot: 0, pfunc: std::ptr::null_mut() },
        ];
        let mut spec = ffi::PyType_Spec {
            name: c"gristmill._native.StringMemory".as_ptr(),
            basicsize: size_of::<Exporter>() as c_int,
            itemsize: 0,
            flags: (ffi::Py_TPFLAGS_DEFAULT | NOT_FROM_PYTHON) as c_uint,
            slots: slots.as_mut_ptr(),
        };
        // SAFETY: the specification is complete and Python copies what it keeps of it but the name, which is static.
        let made = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec))? };
        Ok::<_, PyErr>(made.cast_into::<PyType>()?.unbind())
    })?;
    Ok(class.as_ptr().cast())
}

/// A `memoryview` of a string's bytes, which cannot be written; it keeps them.
pub(crate) fn view_of(py: Python<'_>, string: Bytes) -> PyResult<Bound<'_, PyAny>> {
    let class = exporter_type(py)?;
    // SAFETY: an object of a class that nothing but this function makes objects of gets its string before anybody
    // else sees it; a failed allocation is an error before that.
    unsafe {
        let exporter = Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0))?;
        (&raw mut (*exporter.as_ptr().cast::<Exporter>()).string).write(string);
        Bound::from_owned_ptr_or_err(py, ffi::PyMemoryView_FromObject(exporter.as_ptr()))
    }
}

/// Those of all elements of a string tensor in row-major order; none for other dtypes.
pub(crate) fn views_of<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Vec<Bound<'py, PyAny>>> {
    (0..tensor.string_slices().len()).map(|i| view_of(py, tensor.string_bytes(i))).collect()
}
