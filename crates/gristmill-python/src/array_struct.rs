//! Memory shown to NumPy by its array interface as a C structure, which it takes several times faster than the
//! dictionary (NumPy's reference, "The array interface protocol", C-struct access).
#![allow(unsafe_code)]

use gristmill_types::{DType, Tensor};
use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_char, c_int, c_void};

/// NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED, NPY_ARRAY_NOTSWAPPED.
const FLAGS: c_int = 0x1 | 0x100 | 0x200;
/// NPY_ARRAY_WRITEABLE.
const WRITEABLE: c_int = 0x400;
/// Dimensions that a tensor may have.
const RANK: usize = gristmill_types::shape::MAX_RANK;

/// PyArrayInterface, and the numbers that it points to.
#[repr(C)]
struct Interface {
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *mut isize,
    strides: *mut isize,
    data: *mut c_void,
    descr: *mut ffi::PyObject,
    sizes: [isize; RANK],
    steps: [isize; RANK],
}

unsafe extern "C" fn free(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python once, with a capsule that `of` made around a box of this type.
    unsafe {
        let interface = ffi::PyCapsule_GetPointer(capsule, std::ptr::null());
        drop(Box::from_raw(interface.cast::<Interface>()));
    }
}

/// Plain memory as NumPy wants to know it.
struct Plain<'a> {
    kind: u8,
    itemsize: usize,
    dims: &'a [usize],
    data: *const u8,
    writeable: bool,
}

impl Plain<'_> {
    fn capsule<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (mut sizes, mut steps) = ([0; RANK], [0; RANK]);
        let mut step = self.itemsize as isize;
        for (i, &d) in self.dims.iter().enumerate().rev() {
            (sizes[i], steps[i]) = (d as isize, step);
            step *= d.max(1) as isize;
        }
        let mut interface = Box::new(Interface {
            two: 2,
            nd: self.dims.len() as c_int,
            typekind: self.kind as c_char,
            itemsize: self.itemsize as c_int,
            flags: FLAGS | if self.writeable { WRITEABLE } else { 0 },
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            data: self.data.cast_mut().cast(),
            descr: std::ptr::null_mut(),
            sizes,
            steps,
        });
        interface.shape = interface.sizes.as_mut_ptr();
        interface.strides = interface.steps.as_mut_ptr();
        let interface = Box::into_raw(interface);
        // SAFETY: the box is given up to the capsule, whose destructor takes it back; if there is no capsule it is
        // taken back here.
        unsafe {
            let capsule = ffi::PyCapsule_New(interface.cast(), std::ptr::null(), Some(free));
            if capsule.is_null() {
                drop(Box::from_raw(interface));
            }
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }
}

/// The capsule for a tensor whose memory lives as long as the object that it is an attribute of; NumPy keeps that
/// object. bfloat16 appears as uint16.
///
/// # Errors
/// `AttributeError` for strings, as for an object without this attribute.
pub(crate) fn of<'py>(py: Python<'py>, t: &Tensor, writeable: bool) -> PyResult<Bound<'py, PyAny>> {
    let kind = match t.dtype() {
        DType::Bool => b'b',
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => b'i',
        DType::U8 | DType::U16 | DType::U32 | DType::U64 | DType::BF16 => b'u',
        DType::F16 | DType::F32 | DType::F64 => b'f',
        DType::String => return Err(PyAttributeError::new_err("__array_struct__")),
    };
    let itemsize = t.dtype().size();
    Plain { kind, itemsize, dims: t.dims(), data: t.bytes().as_ptr(), writeable }.capsule(py)
}

/// A tensor that NumPy looks at as an array which cannot be written.
#[pyclass(frozen, module = "gristmill._native")]
pub(crate) struct ReadOnly(pub(crate) Tensor);

#[pymethods]
impl ReadOnly {
    #[getter]
    fn __array_struct__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        of(py, &self.0, false)
    }
}
