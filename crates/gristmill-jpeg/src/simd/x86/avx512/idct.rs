//! The 8x8 transforms of four blocks side by side, one in each quarter of the vectors.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::passes512::{accurate_pass, fast_pass, transpose};
use crate::block::{Block, EMPTY, ZIGZAG};
use crate::idct::Kind;
use crate::simd::Strip;

type V = __m512i;

/// The zigzag position of each place in natural order, the upper and the lower four rows.
#[repr(align(64))]
struct Order([[i16; 32]; 2]);

static ORDER: Order = {
    let mut order = [[0; 32]; 2];
    let mut i = 0;
    while i < 64 {
        let place = ZIGZAG[i] as usize;
        order[place / 32][place % 32] = i as i16;
        i += 1;
    }
    Order(order)
};

/// A bit for each zigzag position that is not in the first row.
const BELOW: [u32; 2] = {
    let mut bits = [0; 2];
    let mut i = 0;
    while i < 64 {
        if ZIGZAG[i] >= 8 {
            bits[i / 32] |= 1 << (i % 32);
        }
        i += 1;
    }
    bits
};

/// A bit for each place whose zigzag position is below 32.
const EARLY: [u32; 2] = {
    let mut bits = [0; 2];
    let mut i = 0;
    while i < 32 {
        bits[ZIGZAG[i] as usize / 32] |= 1 << (ZIGZAG[i] % 32);
        i += 1;
    }
    bits
};

/// [`crate::simd::Level::transform`] for the two 8x8 kinds.
pub(in crate::simd) fn transform(
    kind: Kind,
    multipliers: &[i16; 64],
    blocks: &mut [Block],
    extents: &[u8],
    strip: Strip,
    out: &mut [u8],
    stride: usize,
) {
    if strip.count == 0 {
        return;
    }
    assert!(strip.h > 0 && out.len() >= 7 * stride + strip.count * 8);
    let last = strip.place(strip.first + strip.count - 1);
    assert!(strip.place(strip.first) <= last && last < blocks.len() && last < extents.len());
    // SAFETY: `detect` has found the features; the places grow with the column, so all are inside `blocks` and
    // `extents`, and `out` has room for the samples, as just checked.
    unsafe {
        match kind {
            Kind::Accurate => run::<true>(multipliers, blocks, extents, strip, out.as_mut_ptr(), stride),
            _ => run::<false>(multipliers, blocks, extents, strip, out.as_mut_ptr(), stride),
        }
    }
}

/// # Safety
///
/// The processor has AVX-512 F and BW; see [`transform`] for the sizes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn run<const ACCURATE: bool>(
    m: &[i16; 64],
    blocks: &mut [Block],
    extents: &[u8],
    strip: Strip,
    out: *mut u8,
    stride: usize,
) {
    let mut spare = EMPTY;
    let base = blocks.as_mut_ptr();
    let mut places = strip.places();
    for i in (0..strip.count).step_by(4) {
        let here = (strip.count - i).min(4);
        let mut four = [&raw mut spare; 4];
        let mut extent = 0;
        for (block, place) in four.iter_mut().zip(places.by_ref()) {
            // SAFETY: the caller's word.
            unsafe {
                *block = base.add(place);
                extent = extent.max(*extents.get_unchecked(place));
            }
        }
        // A bit for each of them.
        let mask = (1u8 << here) - 1;
        // SAFETY: the caller's word; those that are not the spare block are different.
        unsafe {
            let out = out.add(i * 8);
            let columns = match extent {
                ..2 => {
                    flat::<ACCURATE>(four, m, out, stride, mask);
                    continue;
                }
                2..33 => columns::<ACCURATE, false>(four, m),
                _ => columns::<ACCURATE, true>(four, m),
            };
            store(columns, out, stride, mask);
        }
    }
}

/// Four blocks of which nothing but the DC coefficients is other than zero.
///
/// # Safety
///
/// The processor has the features; 8 rows of 8 samples have room for each bit of `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn flat<const ACCURATE: bool>(
    blocks: [*mut Block; 4],
    m: &[i16; 64],
    out: *mut u8,
    stride: usize,
    mask: u8,
) {
    let mut samples = [0u64; 4];
    for (sample, block) in samples.iter_mut().zip(blocks) {
        // SAFETY: the caller's word.
        let dc = unsafe { &mut (*block).0[0] };
        let value = dc.wrapping_mul(m[0]);
        *dc = 0;
        let value = if ACCURATE { (i32::from(value << 2) + 16) >> 5 } else { i32::from(value >> 5) };
        *sample = (value.clamp(-128, 127) + 128) as u64 * 0x0101_0101_0101_0101;
    }
    // SAFETY: 32 bytes; the caller's word.
    unsafe {
        let row = _mm256_loadu_si256(samples.as_ptr().cast());
        for r in 0..8 {
            _mm256_mask_storeu_epi64(out.add(r * stride).cast(), mask, row);
        }
    }
}

/// Transforms four blocks and makes them zero; gives the columns, still of 16 bits. Without `FULL` only the first 32
/// coefficients may be other than zero.
///
/// # Safety
///
/// The processor has the features; the blocks can be written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn columns<const ACCURATE: bool, const FULL: bool>(blocks: [*mut Block; 4], m: &[i16; 64]) -> [V; 8] {
    let zero = _mm512_setzero_si512();
    let (mut upper, mut lower) = ([zero; 4], [zero; 4]);
    // Two bits for each block that has coefficients in its first row only.
    let mut is_flat = 0u8;
    // SAFETY: the caller's word; blocks and tables have twice 32 values, and are aligned (but for `m`).
    unsafe {
        let m: *const V = m.as_ptr().cast();
        let (first, second) = (_mm512_loadu_si512(m), _mm512_loadu_si512(m.add(1)));
        let order: *const V = ORDER.0.as_ptr().cast();
        let (above, below) = (_mm512_load_si512(order), _mm512_load_si512(order.add(1)));
        macro_rules! block {
            ($($i:literal)*) => {
                $({
                    let block: *mut V = blocks[$i].cast();
                    let a = _mm512_load_si512(block);
                    _mm512_store_si512(block, zero);
                    let x = _mm512_mullo_epi16(a, first);
                    let mut beyond = if ACCURATE { _mm512_mask_test_epi16_mask(BELOW[0], a, a) } else { 0 };
                    if FULL {
                        let b = _mm512_load_si512(block.add(1));
                        _mm512_store_si512(block.add(1), zero);
                        let y = _mm512_mullo_epi16(b, second);
                        upper[$i] = _mm512_permutex2var_epi16(x, above, y);
                        lower[$i] = _mm512_permutex2var_epi16(x, below, y);
                        if ACCURATE {
                            beyond |= _mm512_mask_test_epi16_mask(BELOW[1], b, b);
                        }
                    } else {
                        upper[$i] = _mm512_maskz_permutexvar_epi16(EARLY[0], above, x);
                        lower[$i] = _mm512_maskz_permutexvar_epi16(EARLY[1], below, x);
                    }
                    is_flat |= u8::from(beyond == 0) * (0b11 << (2 * $i));
                })*
            };
        }
        block!(0 1 2 3);
    }
    let ([r0, r1, r2, r3], [r4, r5, r6, r7]) = (side_by_side(upper), side_by_side(lower));
    let rows = [r0, r1, r2, r3, r4, r5, r6, r7];
    if !ACCURATE {
        let mut columns = fast_pass(transpose(fast_pass(rows)));
        for v in &mut columns {
            *v = _mm512_srai_epi16::<5>(*v);
        }
        return columns;
    }
    let mut work = accurate_pass::<11>(rows);
    // Such a block wraps where the full formula would saturate.
    let flat = _mm512_slli_epi16::<2>(r0);
    for v in &mut work {
        *v = _mm512_mask_mov_epi64(*v, is_flat, flat);
    }
    accurate_pass::<18>(transpose(work))
}

/// From four rows of each of four blocks to a vector of each row.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn side_by_side(b: [V; 4]) -> [V; 4] {
    let (first, second) = (
        _mm512_shuffle_i32x4::<0b01_00_01_00>(b[0], b[1]),
        _mm512_shuffle_i32x4::<0b01_00_01_00>(b[2], b[3]),
    );
    let (third, fourth) = (
        _mm512_shuffle_i32x4::<0b11_10_11_10>(b[0], b[1]),
        _mm512_shuffle_i32x4::<0b11_10_11_10>(b[2], b[3]),
    );
    [
        _mm512_shuffle_i32x4::<0b10_00_10_00>(first, second),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(first, second),
        _mm512_shuffle_i32x4::<0b10_00_10_00>(third, fourth),
        _mm512_shuffle_i32x4::<0b11_01_11_01>(third, fourth),
    ]
}

/// Stores the columns of four blocks as 8 rows of 32 samples, of those that have a bit in `mask`.
///
/// # Safety
///
/// The processor has the features; there is room for the samples.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn store(c: [V; 8], out: *mut u8, stride: usize, mask: u8) {
    // Each quarter: columns i and i + 4, 8 rows of each.
    let p: [V; 4] = [
        _mm512_packs_epi16(c[0], c[4]),
        _mm512_packs_epi16(c[1], c[5]),
        _mm512_packs_epi16(c[2], c[6]),
        _mm512_packs_epi16(c[3], c[7]),
    ];
    let (x01, x45) = (_mm512_unpacklo_epi8(p[0], p[1]), _mm512_unpackhi_epi8(p[0], p[1]));
    let (x23, x67) = (_mm512_unpacklo_epi8(p[2], p[3]), _mm512_unpackhi_epi8(p[2], p[3]));
    let left = [_mm512_unpacklo_epi16(x01, x23), _mm512_unpackhi_epi16(x01, x23)];
    let right = [_mm512_unpacklo_epi16(x45, x67), _mm512_unpackhi_epi16(x45, x67)];
    let center = _mm512_set1_epi8(-128);
    let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for i in 0..2 {
        let rows = [_mm512_unpacklo_epi32(left[i], right[i]), _mm512_unpackhi_epi32(left[i], right[i])];
        for (j, rows) in rows.into_iter().enumerate() {
            // Two rows of each block.
            let rows = _mm512_permutexvar_epi64(order, _mm512_xor_si512(rows, center));
            // SAFETY: the caller's word.
            unsafe {
                let to = out.add((4 * i + 2 * j) * stride);
                _mm256_mask_storeu_epi64(to.cast(), mask, _mm512_castsi512_si256(rows));
                _mm256_mask_storeu_epi64(to.add(stride).cast(), mask, _mm512_extracti64x4_epi64::<1>(rows));
            }
        }
    }
}
