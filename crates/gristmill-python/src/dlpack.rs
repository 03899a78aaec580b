//! Memory handed over by the DLPack protocol (dmlc/dlpack, ABI 1.0 and the capsule before it).
#![allow(unsafe_code)]

use gristmill_types::{DType, Tensor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};

/// kDLCPU, device 0.
pub(crate) const DEVICE: (i32, i32) = (1, 0);
/// DLPACK_FLAG_BITMASK_IS_COPIED.
const IS_COPIED: u64 = 2;
const OLD: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// DLManagedTensor.
#[repr(C)]
struct Old {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// DLManagedTensorVersioned.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
    flags: u64,
    tensor: DlTensor,
}

/// What a capsule keeps alive.
struct Held {
    _tensor: Tensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

unsafe extern "C" fn delete_old(managed: *mut Old) {
    // SAFETY: `managed` and its context were made by Box::into_raw in `capsule`, and a consumer
    // calls the deleter once.
    unsafe {
        drop(Box::from_raw((*managed).context.cast::<Held>()));
        drop(Box::from_raw(managed));
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: as in delete_old.
    unsafe {
        drop(Box::from_raw((*managed).context.cast::<Held>()));
        drop(Box::from_raw(managed));
    }
}

unsafe extern "C" fn drop_old(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with a live capsule. Its name is still ours only if nobody took the
    // tensor over; then it is freed here.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, OLD.as_ptr()) == 1 {
            delete_old(ffi::PyCapsule_GetPointer(capsule, OLD.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as in drop_old.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

/// DLPack's type code.
fn code(dtype: DType) -> Option<u8> {
    Some(match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::Bool => 6,
        DType::String => return None,
    })
}

/// A capsule over the memory of a pinned tensor.
///
/// # Errors
/// `BufferError` for strings.
pub(crate) fn capsule(
    py: Python<'_>,
    tensor: Tensor,
    versioned: bool,
    copied: bool,
) -> PyResult<Bound<'_, PyAny>> {
    let dtype = tensor.dtype();
    let code = code(dtype).ok_or_else(|| PyBufferError::new_err("DLPack has no strings"))?;
    let shape: Vec<i64> = tensor.dims().iter().map(|&d| d as i64).collect();
    let mut strides = vec![1i64; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    let data = tensor.bytes().as_ptr().cast_mut().cast();
    let mut held = Box::new(Held { _tensor: tensor, shape, strides });
    let tensor = DlTensor {
        data,
        device_type: DEVICE.0,
        device_id: DEVICE.1,
        ndim: held.shape.len() as i32,
        code,
        bits: (dtype.size() * 8) as u8,
        lanes: 1,
        shape: held.shape.as_mut_ptr(),
        strides: held.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(held).cast();
    // SAFETY: the pointers come from Box::into_raw, whose owners are the deleters above; the names
    // are static. A null result carries a Python error, turned into a PyErr by from_owned_ptr_or_err.
    unsafe {
        let made = if versioned {
            let flags = if copied { IS_COPIED } else { 0 };
            let managed =
                Versioned { major: 1, minor: 0, context, deleter: Some(delete_versioned), flags, tensor };
            ffi::PyCapsule_New(
                Box::into_raw(Box::new(managed)).cast(),
                VERSIONED.as_ptr(),
                Some(drop_versioned),
            )
        } else {
            let managed = Old { tensor, context, deleter: Some(delete_old) };
            ffi::PyCapsule_New(Box::into_raw(Box::new(managed)).cast(), OLD.as_ptr(), Some(drop_old))
        };
        Bound::from_owned_ptr_or_err(py, made)
    }
}
