//! The transforms of two blocks to 4x4 and to 2x2 samples; see `half` and `quarter` of [`crate::idct`].
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::idct::V;
use super::passes256::factors;

/// The low and the high quarters of the halves of two vectors, one value of each in turn.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs(a: V, b: V) -> [V; 2] {
    [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]
}

/// `half_pass` for values in pairs: the first of them times 2^14 and half a unit of the result, then those numbered 2 and
/// 6, 1 and 3, 5 and 7.
#[inline]
#[target_feature(enable = "avx2")]
fn half_pass<const SHIFT: i32>(start: V, e2: V, p13: V, p57: V) -> [V; 4] {
    let sum = |f: V, g: V| _mm256_add_epi32(_mm256_madd_epi16(p13, f), _mm256_madd_epi16(p57, g));
    let o2 = sum(factors(20995, 7373), factors(-4926, -4176));
    let o0 = sum(factors(8697, -17799), factors(11893, -1730));
    let (a, b) = (_mm256_add_epi32(start, e2), _mm256_sub_epi32(start, e2));
    [
        _mm256_srai_epi32::<SHIFT>(_mm256_add_epi32(a, o2)),
        _mm256_srai_epi32::<SHIFT>(_mm256_add_epi32(b, o0)),
        _mm256_srai_epi32::<SHIFT>(_mm256_sub_epi32(b, o0)),
        _mm256_srai_epi32::<SHIFT>(_mm256_sub_epi32(a, o2)),
    ]
}

/// Stores 4 rows of 8 samples; `below` is zero in the halves whose block has coefficients in its first row (and the
/// fifth) only.
///
/// # Safety
///
/// There is room for them.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn half(rows: [V; 8], below: V, out: *mut u8, stride: usize) {
    let zero = _mm256_setzero_si256();
    let round = _mm256_set1_epi32(1 << 11);
    let (p0, p26) = (pairs(zero, rows[0]), pairs(rows[2], rows[6]));
    let (p13, p57) = (pairs(rows[1], rows[3]), pairs(rows[5], rows[7]));
    let part = |i: usize| {
        let start = _mm256_add_epi32(_mm256_srai_epi32::<2>(p0[i]), round);
        half_pass::<12>(start, _mm256_madd_epi16(p26[i], factors(15137, -6270)), p13[i], p57[i])
    };
    let (low, high) = (part(0), part(1));
    let is_flat = _mm256_cmpeq_epi64(below, zero);
    let is_flat = _mm256_and_si256(is_flat, _mm256_shuffle_epi32::<0b01_00_11_10>(is_flat));
    let flat = _mm256_slli_epi16::<2>(rows[0]);
    let row = |i: usize| _mm256_blendv_epi8(_mm256_packs_epi32(low[i], high[i]), flat, is_flat);
    let (upper, lower) = (pairs(row(0), row(1)), pairs(row(2), row(3)));
    // Columns 0 and 1, 2 and 3 and so on, with 4 values each.
    let [c01, c23, c45, c67] = [
        _mm256_unpacklo_epi32(upper[0], lower[0]),
        _mm256_unpackhi_epi32(upper[0], lower[0]),
        _mm256_unpacklo_epi32(upper[1], lower[1]),
        _mm256_unpackhi_epi32(upper[1], lower[1]),
    ];
    let ([p02, p13], [p46, p57]) = (pairs(c01, c23), pairs(c45, c67));
    let start = _mm256_add_epi32(_mm256_madd_epi16(p02, factors(1 << 14, 0)), _mm256_set1_epi32(1 << 18));
    let e2 = _mm256_madd_epi16(p02, factors(0, 15137));
    let e2 = _mm256_add_epi32(e2, _mm256_madd_epi16(p46, factors(0, -6270)));
    let [a, b, c, d] = half_pass::<19>(start, e2, p13, p57);
    let columns = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    let turn = _mm256_set_epi32(
        0x0F0B_0703,
        0x0E0A_0602,
        0x0D09_0501,
        0x0C08_0400,
        0x0F0B_0703,
        0x0E0A_0602,
        0x0D09_0501,
        0x0C08_0400,
    );
    let samples = _mm256_xor_si256(_mm256_shuffle_epi8(columns, turn), _mm256_set1_epi8(-128));
    let samples = _mm256_permutevar8x32_epi32(samples, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    let halves = [_mm256_castsi256_si128(samples), _mm256_extracti128_si256::<1>(samples)];
    for (i, two) in halves.into_iter().enumerate() {
        // SAFETY: the caller's word.
        unsafe {
            let to = out.add(2 * i * stride);
            _mm_storel_epi64(to.cast(), two);
            _mm_storel_epi64(to.add(stride).cast(), _mm_unpackhi_epi64(two, two));
        }
    }
}

/// Stores 2 rows of 4 samples.
///
/// # Safety
///
/// There is room for them.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn quarter(rows: [V; 8], out: *mut u8, stride: usize) {
    let zero = _mm256_setzero_si256();
    let round = _mm256_set1_epi32(1 << 12);
    let (p0, p13, p57) = (pairs(zero, rows[0]), pairs(rows[1], rows[3]), pairs(rows[5], rows[7]));
    // Upper and lower row; of the first column 32 bits are needed.
    let part = |i: usize| {
        let start = _mm256_add_epi32(_mm256_srai_epi32::<1>(p0[i]), round);
        let odd = _mm256_madd_epi16(p13[i], factors(29692, -10426));
        let odd = _mm256_add_epi32(odd, _mm256_madd_epi16(p57[i], factors(6967, -5906)));
        let (upper, lower) = (_mm256_add_epi32(start, odd), _mm256_sub_epi32(start, odd));
        [_mm256_srai_epi32::<13>(upper), _mm256_srai_epi32::<13>(lower)]
    };
    let (low, high) = (part(0), part(1));
    let weights = _mm256_broadcastsi128_si256(_mm_setr_epi16(0, 29692, 0, -10426, 0, 6967, 0, -5906));
    let sums = |i: usize| _mm256_madd_epi16(_mm256_packs_epi32(low[i], high[i]), weights);
    let odd = _mm256_hadd_epi32(sums(0), sums(1));
    let odd = _mm256_hadd_epi32(odd, odd);
    let start = _mm256_slli_epi32::<15>(_mm256_unpacklo_epi32(low[0], low[1]));
    let start = _mm256_add_epi32(start, _mm256_set1_epi32(1 << 19));
    let left = _mm256_srai_epi32::<20>(_mm256_add_epi32(start, odd));
    let right = _mm256_srai_epi32::<20>(_mm256_sub_epi32(start, odd));
    let samples = _mm256_packs_epi32(_mm256_unpacklo_epi32(left, right), zero);
    let samples = _mm256_xor_si256(_mm256_packs_epi16(samples, zero), _mm256_set1_epi8(-128));
    let (a, b) = (_mm256_castsi256_si128(samples), _mm256_extracti128_si256::<1>(samples));
    let both = _mm_unpacklo_epi16(a, b);
    // SAFETY: the caller's word.
    unsafe {
        out.cast::<u32>().write_unaligned(_mm_cvtsi128_si32(both).cast_unsigned());
        out.add(stride).cast::<u32>().write_unaligned(_mm_extract_epi32::<1>(both).cast_unsigned());
    }
}
