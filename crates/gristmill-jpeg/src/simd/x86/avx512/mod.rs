//! AVX-512: the 8x8 transforms, enlarging and colour conversion.
#![allow(unsafe_code)]

mod idct;
mod passes512;

use std::arch::x86_64::*;

pub(super) use idct::transform;

use super::{BELONGS, SPREAD};
use crate::bands::SLACK;

/// Whether the processor has what is used here. Vectors this wide slowed down the first processors that had them: those
/// are told by what came with the next ones.
pub(super) fn available() -> bool {
    usable() && std::arch::is_x86_feature_detected!("avx512vbmi2")
}

/// Whether this code can run at all.
pub(super) fn usable() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512vl")
}

/// [`crate::upsample::both`].
pub(super) fn both(near: &[u8], far: &[u8], n: usize, sums: &mut [i16], out: &mut [u8]) {
    let enough =
        near.len() >= n + 32 && far.len() >= n + 32 && sums.len() >= n + SLACK && out.len() >= 2 * n + 64;
    assert!(n > 0 && enough, "rows have slack");
    // SAFETY: the features were detected; rows are long enough, as just checked.
    unsafe { both_rows(near.as_ptr(), far.as_ptr(), n, sums.as_mut_ptr().add(16), out.as_mut_ptr()) }
}

/// # Safety
///
/// The processor has the features; 32 samples more than `n` can be read and, twice as many, written; `sums` has room for
/// 16 before and 48 after.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn both_rows(near: *const u8, far: *const u8, n: usize, sums: *mut i16, out: *mut u8) {
    let three = |v| _mm512_add_epi16(_mm512_add_epi16(v, v), v);
    // SAFETY: the caller's word; the steps go at most 31 beyond `n`.
    unsafe {
        let load = |from: *const u8| _mm512_cvtepu8_epi16(_mm256_loadu_si256(from.cast()));
        for x in (0..n).step_by(32) {
            let sum = _mm512_add_epi16(three(load(near.add(x))), load(far.add(x)));
            _mm512_storeu_si512(sums.add(x).cast(), sum);
        }
        *sums.sub(1) = *sums;
        *sums.add(n) = *sums.add(n - 1);
        let (eight, seven) = (_mm512_set1_epi16(8), _mm512_set1_epi16(7));
        for x in (0..n).step_by(32) {
            let middle = three(_mm512_loadu_si512(sums.add(x).cast()));
            let left = _mm512_loadu_si512(sums.add(x).sub(1).cast());
            let right = _mm512_loadu_si512(sums.add(x + 1).cast());
            let even = _mm512_srli_epi16::<4>(_mm512_add_epi16(_mm512_add_epi16(middle, eight), left));
            // The upper byte of sixteen times the odd sample: no shift to the right and back.
            let odd = _mm512_slli_epi16::<4>(_mm512_add_epi16(_mm512_add_epi16(middle, seven), right));
            let pairs = _mm512_mask_blend_epi8(0xAAAA_AAAA_AAAA_AAAA, even, odd);
            _mm512_storeu_si512(out.add(2 * x).cast(), pairs);
        }
    }
}

/// [`crate::color::Convert::YccToRgb`].
pub(super) fn ycc_to_rgb(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let n = out.len() / 3;
    let vectors = n / 64 * 64;
    assert!(y.len() >= n && cb.len() >= n && cr.len() >= n);
    // SAFETY: the features were detected; so many samples are there, and room for so many pixels.
    unsafe { ycc_row(y.as_ptr(), cb.as_ptr(), cr.as_ptr(), vectors, out.as_mut_ptr()) };
    if vectors < n {
        super::ycc_to_rgb_256(&y[vectors..], &cb[vectors..], &cr[vectors..], &mut out[vectors * 3..]);
    }
}

/// See `ycc_16` of the code for AVX2.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn ycc_32(y: __m512i, b: __m512i, r: __m512i) -> [__m512i; 3] {
    let center = _mm512_set1_epi16(128);
    let (b, r) = (_mm512_sub_epi16(b, center), _mm512_sub_epi16(r, center));
    let m = _mm512_mulhi_epi16(_mm512_add_epi16(r, r), _mm512_set1_epi16(26345));
    let m = _mm512_srai_epi16::<1>(_mm512_add_epi16(m, _mm512_set1_epi16(1)));
    let red = _mm512_add_epi16(_mm512_add_epi16(y, r), m);
    let m = _mm512_mulhrs_epi16(b, _mm512_set1_epi16(-7471));
    let blue = _mm512_add_epi16(_mm512_add_epi16(y, _mm512_add_epi16(b, b)), m);
    let (factors, half) = (_mm512_set1_epi32((18734 << 16) | (-22554 & 0xFFFF)), _mm512_set1_epi32(1 << 15));
    let products = |pairs| _mm512_srai_epi32::<16>(_mm512_add_epi32(_mm512_madd_epi16(pairs, factors), half));
    let m = _mm512_packs_epi32(products(_mm512_unpacklo_epi16(b, r)), products(_mm512_unpackhi_epi16(b, r)));
    [red, _mm512_add_epi16(_mm512_sub_epi16(y, r), m), blue]
}

/// The bytes of a part that belong to a channel, one bit each, the same in each quarter.
const fn bits(channel: usize, part: usize) -> u64 {
    let (mut bits, mut i) = (0, 0);
    while i < 64 {
        if BELONGS[part][channel - 1][i % 16] != 0 {
            bits |= 1 << i;
        }
        i += 1;
    }
    bits
}

/// # Safety
///
/// The processor has the features; `n` is a multiple of 64, and so many samples can be read and pixels written.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn ycc_row(y: *const u8, cb: *const u8, cr: *const u8, n: usize, out: *mut u8) {
    const GREEN: [u64; 3] = [bits(1, 0), bits(1, 1), bits(1, 2)];
    const BLUE: [u64; 3] = [bits(2, 0), bits(2, 1), bits(2, 2)];
    // SAFETY: all tables have 16 bytes.
    let table = |t: &[i8; 16]| unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(t.as_ptr().cast())) };
    let spread = [table(&SPREAD[0]), table(&SPREAD[1]), table(&SPREAD[2])];
    let zero = _mm512_setzero_si512();
    // Quarters 0 to 3 of the first and 4 to 7 of the second part, then of the third: what follows each other in memory.
    let quarters = |a: i64, b: i64, c: i64, d: i64| {
        _mm512_setr_epi64(2 * a, 2 * a + 1, 2 * b, 2 * b + 1, 2 * c, 2 * c + 1, 2 * d, 2 * d + 1)
    };
    let orders = [quarters(0, 4, 0, 1), quarters(5, 0, 2, 6), quarters(0, 3, 7, 0)];
    let thirds = [quarters(0, 0, 0, 0), quarters(1, 1, 1, 1), quarters(2, 2, 2, 3)];
    for x in (0..n).step_by(64) {
        // SAFETY: the caller's word.
        let (y, b, r) = unsafe {
            (
                _mm512_loadu_si512(y.add(x).cast()),
                _mm512_loadu_si512(cb.add(x).cast()),
                _mm512_loadu_si512(cr.add(x).cast()),
            )
        };
        let low = |v| _mm512_unpacklo_epi8(v, zero);
        let high = |v| _mm512_unpackhi_epi8(v, zero);
        let (l, h) = (ycc_32(low(y), low(b), low(r)), ycc_32(high(y), high(b), high(r)));
        let channel = |i: usize| _mm512_shuffle_epi8(_mm512_packus_epi16(l[i], h[i]), spread[i]);
        let (r, g, b) = (channel(0), channel(1), channel(2));
        let part = |i: usize| _mm512_mask_blend_epi8(BLUE[i], _mm512_mask_blend_epi8(GREEN[i], r, g), b);
        let (p, q, s) = (part(0), part(1), part(2));
        let place = |i: usize, mask: u8| {
            let two = _mm512_permutex2var_epi64(p, orders[i], q);
            _mm512_mask_permutexvar_epi64(two, mask, thirds[i], s)
        };
        // SAFETY: the caller's word.
        unsafe {
            let to = out.add(3 * x);
            _mm512_storeu_si512(to.cast(), place(0, 0b0011_0000));
            _mm512_storeu_si512(to.add(64).cast(), place(1, 0b0000_1100));
            _mm512_storeu_si512(to.add(128).cast(), place(2, 0b1100_0011));
        }
    }
}
