//! NEON, which every 64-bit ARM processor has: enlarging, colour conversion, unstuffing and the small helpers.
#![allow(unsafe_code)]

mod idct;
mod reduced;

use std::arch::aarch64::*;

pub(super) use super::entropy::{read, read_two};
pub(super) use idct::transform;

use crate::bands::SLACK;
use crate::block::Block;
use crate::color::Convert;
use crate::simd::Level;
use crate::unstuff::copy_plain;
use crate::upsample;

/// Every processor of this target has NEON.
pub(super) fn detect() -> Level {
    Level::Vector { wide: false }
}

/// All levels of this code that the processor can run.
#[cfg(test)]
pub(super) fn usable() -> Vec<Level> {
    vec![detect()]
}

/// [`copy_plain`], 16 bytes at a time.
pub(super) fn copy_unstuffed(data: &[u8], out: &mut Vec<u8>) -> usize {
    out.reserve(data.len() + 16);
    // SAFETY: there is NEON, and room for all of `data` and 16 bytes more.
    unsafe { copy(data, out) }
}

/// # Safety
///
/// `out` has room for `data.len() + 16` bytes more.
#[target_feature(enable = "neon")]
unsafe fn copy(data: &[u8], out: &mut Vec<u8>) -> usize {
    let (mut pos, mut length) = (0, out.len());
    while pos + 17 <= data.len() {
        // SAFETY: 16 bytes are left in `data`; `out` has room for them, as it grows by no more than `pos` does.
        let full = unsafe {
            let bytes = vld1q_u8(data.as_ptr().add(pos));
            vst1q_u8(out.as_mut_ptr().add(length), bytes);
            vceqq_u8(bytes, vdupq_n_u8(0xFF))
        };
        // Four bits for each byte.
        let full = vreinterpret_u64_u8(vshrn_n_u16::<4>(vreinterpretq_u16_u8(full)));
        let full = vget_lane_u64::<0>(full);
        if full == 0 {
            pos += 16;
            length += 16;
            continue;
        }
        let before = full.trailing_zeros() as usize / 4;
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

/// Widens four coefficients of 8 bits and stores them.
///
/// # Safety
///
/// 4 bytes at `from` can be read, at an address that is a multiple of 4, and 8 at `to` written.
#[inline(always)]
pub(super) unsafe fn widen(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's word.
    unsafe {
        let values = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(from.cast::<u32>().read())));
        vst1_u8(to, vreinterpret_u8_s16(vget_low_s16(values)));
    }
}

/// A bit for each position that is other than zero.
#[inline]
pub(super) fn nonzero(block: &Block) -> u64 {
    // SAFETY: there is NEON.
    unsafe { nonzero_bits(block) }
}

#[inline]
#[target_feature(enable = "neon")]
fn nonzero_bits(block: &Block) -> u64 {
    let weights = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
    let from = block.0.as_ptr();
    let part = |i: usize| {
        // SAFETY: the block has four times 16 coefficients.
        let (a, b) = unsafe { (vld1q_s16(from.add(16 * i)), vld1q_s16(from.add(16 * i + 8))) };
        let (a, b) = (vreinterpretq_u8_u16(vtstq_s16(a, a)), vreinterpretq_u8_u16(vtstq_s16(b, b)));
        vandq_u8(vuzp1q_u8(a, b), weights)
    };
    let bits = vpaddq_u8(vpaddq_u8(part(0), part(1)), vpaddq_u8(part(2), part(3)));
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(bits, bits)))
}

/// Three times one, and the other.
#[inline]
#[target_feature(enable = "neon")]
fn three_and_one(three: uint16x8_t, one: uint16x8_t) -> uint16x8_t {
    vmlaq_n_u16(one, three, 3)
}

/// [`upsample::both`].
pub(super) fn both(_: bool, near: &[u8], far: &[u8], n: usize, sums: &mut [i16], out: &mut [u8]) {
    let enough =
        near.len() >= n + 32 && far.len() >= n + 32 && sums.len() >= n + SLACK && out.len() >= 2 * n + 32;
    assert!(n > 0 && enough, "rows have slack");
    // SAFETY: rows are long enough, as just checked.
    unsafe { both_rows(near.as_ptr(), far.as_ptr(), n, sums.as_mut_ptr().add(16).cast(), out.as_mut_ptr()) }
}

/// # Safety
///
/// 32 samples more than `n` can be read and, twice as many, written; `sums` has room for 16 before and 48 after.
#[target_feature(enable = "neon")]
unsafe fn both_rows(near: *const u8, far: *const u8, n: usize, sums: *mut u16, out: *mut u8) {
    // SAFETY: the caller's word; the steps go at most 15 beyond `n`.
    unsafe {
        for x in (0..n).step_by(16) {
            let (near, far) = (vld1q_u8(near.add(x)), vld1q_u8(far.add(x)));
            let low = vaddw_u8(vmull_u8(vget_low_u8(near), vdup_n_u8(3)), vget_low_u8(far));
            let high = vaddw_high_u8(vmull_high_u8(near, vdupq_n_u8(3)), far);
            vst1q_u16(sums.add(x), low);
            vst1q_u16(sums.add(x + 8), high);
        }
        *sums.sub(1) = *sums;
        *sums.add(n) = *sums.add(n - 1);
        let pair = |x: usize| {
            let middle = vld1q_u16(sums.add(x));
            let even = three_and_one(middle, vld1q_u16(sums.add(x).sub(1)));
            let odd = three_and_one(middle, vld1q_u16(sums.add(x + 1)));
            // The even ones are rounded by adding 8.
            (vrshrn_n_u16::<4>(even), vshrn_n_u16::<4>(vaddq_u16(odd, vdupq_n_u16(7))))
        };
        for x in (0..n).step_by(16) {
            let (first, second) = (pair(x), pair(x + 8));
            let (even, odd) = (vcombine_u8(first.0, second.0), vcombine_u8(first.1, second.1));
            vst2q_u8(out.add(2 * x), uint8x16x2_t(even, odd));
        }
    }
}

/// [`upsample::wide`].
pub(super) fn wide(row: &[u8], n: usize, out: &mut [u8]) {
    if n <= 34 {
        return upsample::wide(&row[..n], out);
    }
    assert!(row.len() >= n && out.len() >= 2 * n);
    // SAFETY: there is NEON; the rows are long enough and `n` is above 34, as just checked.
    unsafe { wide_row(row, n, out) }
}

/// # Safety
///
/// `row` has `n` samples, `out` twice as many, and `n` is above 34.
#[target_feature(enable = "neon")]
unsafe fn wide_row(row: &[u8], n: usize, out: &mut [u8]) {
    upsample::wide(&row[..2], out);
    upsample::wide(&row[n - 2..n], &mut out[2 * n - 4..]);
    let (from, to) = (row.as_ptr(), out.as_mut_ptr());
    let three = vdupq_n_u8(3);
    let mut x = 1;
    loop {
        // SAFETY: x is at least 1 and at most n - 17, so that the neighbours of 16 samples are inside the row.
        unsafe {
            let (near, left, right) =
                (vld1q_u8(from.add(x)), vld1q_u8(from.add(x - 1)), vld1q_u8(from.add(x + 1)));
            let low = vmull_u8(vget_low_u8(near), vdup_n_u8(3));
            let high = vmull_high_u8(near, three);
            let one = vdupq_n_u16(1);
            let even = vshrn_high_n_u16::<2>(
                vshrn_n_u16::<2>(vaddq_u16(vaddw_u8(low, vget_low_u8(left)), one)),
                vaddq_u16(vaddw_high_u8(high, left), one),
            );
            // The odd ones are rounded by adding 2.
            let odd = vrshrn_high_n_u16::<2>(
                vrshrn_n_u16::<2>(vaddw_u8(low, vget_low_u8(right))),
                vaddw_high_u8(high, right),
            );
            vst2q_u8(to.add(2 * x), uint8x16x2_t(even, odd));
        }
        if x == n - 17 {
            break;
        }
        x = (x + 16).min(n - 17);
    }
}

/// [`Convert::YccToRgb`].
pub(super) fn ycc_to_rgb(_: bool, y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let n = out.len() / 3;
    let vectors = n / 16 * 16;
    assert!(y.len() >= n && cb.len() >= n && cr.len() >= n);
    // SAFETY: there is NEON; so many samples are there, and room for so many pixels.
    unsafe { ycc_row(y.as_ptr(), cb.as_ptr(), cr.as_ptr(), vectors, out.as_mut_ptr()) };
    if vectors == n {
        return;
    }
    let (y, cb, cr, out) = (&y[vectors..], &cb[vectors..], &cr[vectors..], &mut out[vectors * 3..]);
    if [y, cb, cr].iter().all(|row| row.len() >= 16) {
        let mut rest = [0; 48];
        // SAFETY: 16 samples are there, and room for 16 pixels.
        unsafe { ycc_row(y.as_ptr(), cb.as_ptr(), cr.as_ptr(), 16, rest.as_mut_ptr()) };
        out.copy_from_slice(&rest[..out.len()]);
    } else {
        Convert::YccToRgb.row([y, cb, cr, &[]], out);
    }
}

/// Red, green and blue of 8 pixels: red is `y + r + round(26345 r / 2^16)`, blue `y + 2b - round(14942 b / 2^16)`, green
/// `y - r + round((18734 r - 22554 b) / 2^16)`.
#[inline]
#[target_feature(enable = "neon")]
fn ycc_8(y: uint8x8_t, b: uint8x8_t, r: uint8x8_t) -> [uint8x8_t; 3] {
    let center = vdup_n_u8(128);
    let (b, r) = (vreinterpretq_s16_u16(vsubl_u8(b, center)), vreinterpretq_s16_u16(vsubl_u8(r, center)));
    let y = vreinterpretq_s16_u16(vmovl_u8(y));
    // The upper half of twice the product, rounded after it is halved.
    let m = vrshrq_n_s16::<1>(vqdmulhq_n_s16(r, 26345));
    let red = vaddq_s16(vaddq_s16(y, r), m);
    let m = vqrdmulhq_n_s16(b, -7471);
    let blue = vaddq_s16(vaddq_s16(y, vaddq_s16(b, b)), m);
    let low = vmlal_n_s16(vmull_n_s16(vget_low_s16(b), -22554), vget_low_s16(r), 18734);
    let high = vmlal_high_n_s16(vmull_high_n_s16(b, -22554), r, 18734);
    let m = vrshrn_high_n_s32::<16>(vrshrn_n_s32::<16>(low), high);
    let green = vaddq_s16(vsubq_s16(y, r), m);
    [vqmovun_s16(red), vqmovun_s16(green), vqmovun_s16(blue)]
}

/// # Safety
///
/// `n` is a multiple of 16, and so many samples can be read and pixels written.
#[target_feature(enable = "neon")]
unsafe fn ycc_row(y: *const u8, cb: *const u8, cr: *const u8, n: usize, out: *mut u8) {
    for x in (0..n).step_by(16) {
        // SAFETY: the caller's word.
        unsafe {
            let (y, b, r) = (vld1q_u8(y.add(x)), vld1q_u8(cb.add(x)), vld1q_u8(cr.add(x)));
            let low = ycc_8(vget_low_u8(y), vget_low_u8(b), vget_low_u8(r));
            let high = ycc_8(vget_high_u8(y), vget_high_u8(b), vget_high_u8(r));
            let channel = |i: usize| vcombine_u8(low[i], high[i]);
            vst3q_u8(out.add(3 * x), uint8x16x3_t(channel(0), channel(1), channel(2)));
        }
    }
}
