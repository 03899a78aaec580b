//! Seeing bytes as elements and the reverse.
#![allow(unsafe_code)]

use crate::Element;

/// The elements as bytes of memory. bf16 and f16 are the `half` crate's types.
pub(crate) fn as_bytes<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: Element types are plain numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Sees bytes as elements; `None` if the address or length does not fit.
pub fn cast_slice<T: Element>(bytes: &[u8]) -> Option<&[T]> {
    let size = size_of::<T>();
    if !bytes.len().is_multiple_of(size) || !(bytes.as_ptr() as usize).is_multiple_of(align_of::<T>()) {
        return None;
    }
    // SAFETY: aligned, a whole number of elements, and every bit pattern is a valid Element.
    Some(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size) })
}

/// Sees bytes as elements for writing; `None` if the address or length does not fit.
pub fn cast_slice_mut<T: Element>(bytes: &mut [u8]) -> Option<&mut [T]> {
    let size = size_of::<T>();
    if !bytes.len().is_multiple_of(size) || !(bytes.as_ptr() as usize).is_multiple_of(align_of::<T>()) {
        return None;
    }
    // SAFETY: as in cast_slice, and the borrow is exclusive.
    Some(unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / size) })
}

/// The elements as bytes of memory, for writing.
pub(crate) fn as_bytes_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: Element types are plain numbers without padding, and any bytes are valid ones.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
