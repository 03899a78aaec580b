//! Taking the stuffing out of a scan, 32 bytes at a time.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::unstuff::copy_plain;

/// [`copy_plain`].
pub(in crate::simd) fn unstuffed(data: &[u8], out: &mut Vec<u8>) -> usize {
    out.reserve(data.len() + 32);
    // SAFETY: `Level::detect` has found the features; there is room for all of `data` and 32 bytes more.
    unsafe { run(data, out) }
}

/// # Safety
///
/// The processor has AVX2, and `out` has room for `data.len() + 32` bytes more.
#[target_feature(enable = "avx2,bmi1")]
unsafe fn run(data: &[u8], out: &mut Vec<u8>) -> usize {
    let mut pos = 0;
    let mut length = out.len();
    let ff = _mm256_set1_epi8(-1);
    while pos + 33 <= data.len() {
        // SAFETY: 32 bytes are left in `data`; `out` has room for them, as it grows by no more than `pos` does.
        let full = unsafe {
            let bytes = _mm256_loadu_si256(data.as_ptr().add(pos).cast());
            _mm256_storeu_si256(out.as_mut_ptr().add(length).cast(), bytes);
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, ff)) as u32
        };
        if full == 0 {
            pos += 32;
            length += 32;
            continue;
        }
        let before = full.trailing_zeros() as usize;
        if data[pos + before + 1] != 0 {
            // SAFETY: so many bytes were written.
            unsafe { out.set_len(length + before) };
            return pos + before;
        }
        pos += before + 2;
        length += before + 1;
    }
    // SAFETY: so many bytes were written.
    unsafe { out.set_len(length) };
    pos + copy_plain(&data[pos..], out)
}
