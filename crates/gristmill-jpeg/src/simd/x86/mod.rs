//! AVX2: enlarging and colour conversion, 16 samples at a time, and the small helpers.
#![allow(unsafe_code)]

mod avx512;
mod copy;
mod idct;
mod masks;
mod passes;
mod passes256;
mod reduced;

use std::arch::x86_64::*;

pub(super) use super::entropy::{read, read_two};
pub(super) use copy::unstuffed as copy_unstuffed;

use crate::bands::SLACK;
use crate::block::Block;
use crate::color::Convert;
use crate::idct::Kind;
use crate::simd::{Level, Strip};
use crate::upsample;

/// Whether the processor has everything that is used here and in [`super::entropy`].
fn available() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("movbe")
}

/// The best level.
pub(super) fn detect() -> Level {
    if available() { Level::Vector { wide: avx512::available() } } else { Level::Plain }
}

/// All levels of this code that the processor can run.
#[cfg(test)]
pub(super) fn usable() -> Vec<Level> {
    let usable = [(available(), false), (available() && avx512::usable(), true)];
    usable.into_iter().filter(|l| l.0).map(|(_, wide)| Level::Vector { wide }).collect()
}

/// [`super::Level::transform`] for all kinds but `Eighth`.
pub(super) fn transform(
    wide: bool,
    kind: Kind,
    multipliers: &[i16; 64],
    blocks: &mut [Block],
    extents: &[u8],
    strip: Strip,
    out: &mut [u8],
    stride: usize,
) {
    if wide && matches!(kind, Kind::Fast | Kind::Accurate) {
        avx512::transform(kind, multipliers, blocks, extents, strip, out, stride);
    } else {
        idct::transform(kind, multipliers, blocks, extents, strip, out, stride);
    }
}

/// [`upsample::both`].
pub(super) fn both(wide: bool, near: &[u8], far: &[u8], n: usize, sums: &mut [i16], out: &mut [u8]) {
    if wide {
        avx512::both(near, far, n, sums, out);
    } else {
        both_256(near, far, n, sums, out);
    }
}

/// [`Convert::YccToRgb`].
pub(super) fn ycc_to_rgb(wide: bool, y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    if wide {
        avx512::ycc_to_rgb(y, cb, cr, out);
    } else {
        ycc_to_rgb_256(y, cb, cr, out);
    }
}

/// Widens four coefficients of 8 bits and stores them.
///
/// # Safety
///
/// The processor has SSE 4.1; 8 bytes at `from` can be read and 8 at `to` written.
#[inline(always)]
pub(super) unsafe fn widen(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's word.
    unsafe { _mm_storel_epi64(to.cast(), _mm_cvtepi8_epi16(_mm_loadl_epi64(from.cast()))) }
}

/// A bit for each position that is other than zero.
#[inline]
pub(super) fn nonzero(block: &Block) -> u64 {
    // SAFETY: `Level::detect` has found AVX2.
    unsafe { nonzero_bits(block) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn nonzero_bits(block: &Block) -> u64 {
    let zero = _mm256_setzero_si256();
    let from = block.0.as_ptr().cast::<__m256i>();
    let half = |i: usize| {
        // SAFETY: the block is aligned and has four vectors.
        let (a, b) = unsafe { (_mm256_load_si256(from.add(i)), _mm256_load_si256(from.add(i + 1))) };
        let zeros = _mm256_packs_epi16(_mm256_cmpeq_epi16(a, zero), _mm256_cmpeq_epi16(b, zero));
        !(_mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(zeros)) as u32)
    };
    u64::from(half(0)) | u64::from(half(2)) << 32
}

/// [`upsample::both`].
fn both_256(near: &[u8], far: &[u8], n: usize, sums: &mut [i16], out: &mut [u8]) {
    let enough =
        near.len() >= n + 32 && far.len() >= n + 32 && sums.len() >= n + SLACK && out.len() >= 2 * n + 32;
    assert!(n > 0 && enough, "rows have slack");
    // SAFETY: `Level::detect` has found AVX2; rows are long enough, as just checked.
    unsafe { both_rows(near.as_ptr(), far.as_ptr(), n, sums.as_mut_ptr().add(16), out.as_mut_ptr()) }
}

/// # Safety
///
/// 32 samples more than `n` can be read and, twice as many, written; `sums` has room for 16 before and 48 after.
#[target_feature(enable = "avx2")]
unsafe fn both_rows(near: *const u8, far: *const u8, n: usize, sums: *mut i16, out: *mut u8) {
    let weights = _mm256_set1_epi16(0x0103);
    let three = |v| _mm256_add_epi16(_mm256_add_epi16(v, v), v);
    // SAFETY: the caller's word; the steps go at most 31 and 15 beyond `n`.
    unsafe {
        for x in (0..n).step_by(32) {
            let near = _mm256_loadu_si256(near.add(x).cast());
            let far = _mm256_loadu_si256(far.add(x).cast());
            let low = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(near, far), weights);
            let high = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(near, far), weights);
            let to = sums.add(x).cast::<__m256i>();
            _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(low, high));
            _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x31>(low, high));
        }
        *sums.sub(1) = *sums;
        *sums.add(n) = *sums.add(n - 1);
        let (eight, seven) = (_mm256_set1_epi16(8), _mm256_set1_epi16(7));
        for x in (0..n).step_by(16) {
            let middle = three(_mm256_loadu_si256(sums.add(x).cast()));
            let left = _mm256_loadu_si256(sums.add(x).sub(1).cast());
            let right = _mm256_loadu_si256(sums.add(x + 1).cast());
            let even = _mm256_srli_epi16::<4>(_mm256_add_epi16(_mm256_add_epi16(middle, eight), left));
            // The upper byte of sixteen times the odd sample: no shift to the right and back.
            let odd = _mm256_slli_epi16::<4>(_mm256_add_epi16(_mm256_add_epi16(middle, seven), right));
            let pairs = _mm256_blendv_epi8(even, odd, _mm256_set1_epi16(0xFF00_u16 as i16));
            _mm256_storeu_si256(out.add(2 * x).cast(), pairs);
        }
    }
}

/// [`upsample::wide`].
pub(super) fn wide(row: &[u8], n: usize, out: &mut [u8]) {
    if n <= 34 {
        return upsample::wide(&row[..n], out);
    }
    assert!(row.len() >= n && out.len() >= 2 * n);
    // SAFETY: `Level::detect` has found AVX2; the rows are long enough and `n` is above 34, as just checked.
    unsafe { wide_row(row, n, out) }
}

/// # Safety
///
/// The processor has AVX2, `row` has `n` samples, `out` twice as many, and `n` is above 34.
#[target_feature(enable = "avx2")]
unsafe fn wide_row(row: &[u8], n: usize, out: &mut [u8]) {
    upsample::wide(&row[..2], out);
    upsample::wide(&row[n - 2..n], &mut out[2 * n - 4..]);
    let (one, two, three) = (_mm256_set1_epi16(1), _mm256_set1_epi16(2), _mm256_set1_epi16(3));
    let (from, to) = (row.as_ptr(), out.as_mut_ptr());
    let mut x = 1;
    loop {
        // SAFETY: x is at least 1 and at most n - 17, so that the neighbours of 16 samples are inside the row.
        unsafe {
            let load = |at: usize| _mm256_cvtepu8_epi16(_mm_loadu_si128(from.add(at).cast()));
            let near = _mm256_mullo_epi16(load(x), three);
            let even = _mm256_srli_epi16::<2>(_mm256_add_epi16(_mm256_add_epi16(near, load(x - 1)), one));
            let odd = _mm256_srli_epi16::<2>(_mm256_add_epi16(_mm256_add_epi16(near, load(x + 1)), two));
            _mm256_storeu_si256(to.add(2 * x).cast(), _mm256_or_si256(even, _mm256_slli_epi16::<8>(odd)));
        }
        if x == n - 17 {
            break;
        }
        x = (x + 16).min(n - 17);
    }
}

/// The samples of a channel in such an order that each is where it is needed in one of the three parts of 16 bytes
/// that 16 interleaved pixels have: those of different parts never want the same place.
const fn spread(channel: usize) -> [i8; 16] {
    let mut result = [0; 16];
    let mut i = 0;
    while i < 16 {
        result[(3 * i + channel) % 16] = i as i8;
        i += 1;
    }
    result
}

/// All ones where byte `i` of that part belongs to the channel.
const fn belongs(channel: usize, part: usize) -> [i8; 16] {
    let mut result = [0; 16];
    let mut i = 0;
    while i < 16 {
        if (part * 16 + i) % 3 == channel {
            result[i] = -1;
        }
        i += 1;
    }
    result
}

static SPREAD: [[i8; 16]; 3] = [spread(0), spread(1), spread(2)];
static BELONGS: [[[i8; 16]; 2]; 3] =
    [[belongs(1, 0), belongs(2, 0)], [belongs(1, 1), belongs(2, 1)], [belongs(1, 2), belongs(2, 2)]];

/// [`Convert::YccToRgb`].
fn ycc_to_rgb_256(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let n = out.len() / 3;
    let vectors = n / 32 * 32;
    assert!(y.len() >= n && cb.len() >= n && cr.len() >= n);
    // SAFETY: `Level::detect` has found AVX2; so many samples are there, and room for so many pixels.
    unsafe { ycc_row(y.as_ptr(), cb.as_ptr(), cr.as_ptr(), vectors, out.as_mut_ptr()) };
    if vectors == n {
        return;
    }
    let (y, cb, cr, out) = (&y[vectors..], &cb[vectors..], &cr[vectors..], &mut out[vectors * 3..]);
    if [y, cb, cr].iter().all(|row| row.len() >= 32) {
        let mut rest = [0; 96];
        // SAFETY: 32 samples are there, and room for 32 pixels.
        unsafe { ycc_row(y.as_ptr(), cb.as_ptr(), cr.as_ptr(), 32, rest.as_mut_ptr()) };
        out.copy_from_slice(&rest[..out.len()]);
    } else {
        Convert::YccToRgb.row([y, cb, cr, &[]], out);
    }
}

/// Red, green and blue of 16 pixels in 16 bits, not clamped: red is `y + r + round(26345 r / 2^16)`, blue
/// `y + 2b - round(14942 b / 2^16)`, green `y - r + round((18734 r - 22554 b) / 2^16)`.
#[inline]
#[target_feature(enable = "avx2")]
fn ycc_16(y: __m256i, b: __m256i, r: __m256i) -> (__m256i, __m256i, __m256i) {
    let center = _mm256_set1_epi16(128);
    let (b, r) = (_mm256_sub_epi16(b, center), _mm256_sub_epi16(r, center));
    let m = _mm256_mulhi_epi16(_mm256_add_epi16(r, r), _mm256_set1_epi16(26345));
    let m = _mm256_srai_epi16::<1>(_mm256_add_epi16(m, _mm256_set1_epi16(1)));
    let red = _mm256_add_epi16(_mm256_add_epi16(y, r), m);
    let m = _mm256_mulhrs_epi16(b, _mm256_set1_epi16(-7471));
    let blue = _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(b, b)), m);
    let (factors, half) = (_mm256_set1_epi32((18734 << 16) | (-22554 & 0xFFFF)), _mm256_set1_epi32(1 << 15));
    let products = |pairs| _mm256_srai_epi32::<16>(_mm256_add_epi32(_mm256_madd_epi16(pairs, factors), half));
    let m = _mm256_packs_epi32(products(_mm256_unpacklo_epi16(b, r)), products(_mm256_unpackhi_epi16(b, r)));
    let green = _mm256_add_epi16(_mm256_sub_epi16(y, r), m);
    (red, green, blue)
}

/// # Safety
///
/// The processor has AVX2; `n` is a multiple of 32, and so many samples can be read and pixels written.
#[target_feature(enable = "avx2")]
unsafe fn ycc_row(y: *const u8, cb: *const u8, cr: *const u8, n: usize, out: *mut u8) {
    // SAFETY: all tables have 16 bytes.
    let table = |t: &[i8; 16]| unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(t.as_ptr().cast())) };
    let spread = [table(&SPREAD[0]), table(&SPREAD[1]), table(&SPREAD[2])];
    let zero = _mm256_setzero_si256();
    for x in (0..n).step_by(32) {
        // SAFETY: the caller's word.
        let (y, b, r) = unsafe {
            (
                _mm256_loadu_si256(y.add(x).cast()),
                _mm256_loadu_si256(cb.add(x).cast()),
                _mm256_loadu_si256(cr.add(x).cast()),
            )
        };
        let low = |v| _mm256_unpacklo_epi8(v, zero);
        let high = |v| _mm256_unpackhi_epi8(v, zero);
        let (r0, g0, b0) = ycc_16(low(y), low(b), low(r));
        let (r1, g1, b1) = ycc_16(high(y), high(b), high(r));
        let r = _mm256_shuffle_epi8(_mm256_packus_epi16(r0, r1), spread[0]);
        let g = _mm256_shuffle_epi8(_mm256_packus_epi16(g0, g1), spread[1]);
        let b = _mm256_shuffle_epi8(_mm256_packus_epi16(b0, b1), spread[2]);
        // Each half of the vectors has 16 pixels.
        for (part, masks) in BELONGS.iter().enumerate() {
            let v = _mm256_blendv_epi8(_mm256_blendv_epi8(r, g, table(&masks[0])), b, table(&masks[1]));
            // SAFETY: the caller's word.
            unsafe {
                let to = out.add(3 * x + 16 * part);
                _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(v));
                _mm_storeu_si128(to.add(48).cast(), _mm256_extracti128_si256::<1>(v));
            }
        }
    }
}
