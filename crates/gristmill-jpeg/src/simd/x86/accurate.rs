//! The accurate transform of two blocks side by side.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::idct::{V, factors, transpose};

/// The pass of the accurate transform; see `accurate_pass` of [`crate::idct`].
#[inline]
#[target_feature(enable = "avx2")]
fn accurate_pass<const SHIFT: i32>(x: [V; 8]) -> [V; 8] {
    let zero = _mm256_setzero_si256();
    let halves = |a, b| [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)];
    let times = |p: [V; 2], f: V| [_mm256_madd_epi16(p[0], f), _mm256_madd_epi16(p[1], f)];
    let plus = |a: [V; 2], b: [V; 2]| [_mm256_add_epi32(a[0], b[0]), _mm256_add_epi32(a[1], b[1])];
    let minus = |a: [V; 2], b: [V; 2]| [_mm256_sub_epi32(a[0], b[0]), _mm256_sub_epi32(a[1], b[1])];
    let scaled = |v| {
        [
            _mm256_srai_epi32::<3>(_mm256_unpacklo_epi16(zero, v)),
            _mm256_srai_epi32::<3>(_mm256_unpackhi_epi16(zero, v)),
        ]
    };
    let round = _mm256_set1_epi32(1 << (SHIFT - 1));
    let down = |v: [V; 2]| {
        let low = _mm256_srai_epi32::<SHIFT>(_mm256_add_epi32(v[0], round));
        let high = _mm256_srai_epi32::<SHIFT>(_mm256_add_epi32(v[1], round));
        _mm256_packs_epi32(low, high)
    };
    let pairs = halves(x[2], x[6]);
    let e3 = times(pairs, factors(4433 + 6270, 4433));
    let e2 = times(pairs, factors(4433, 4433 - 15137));
    let sum = scaled(_mm256_add_epi16(x[0], x[4]));
    let difference = scaled(_mm256_sub_epi16(x[0], x[4]));
    let even = [plus(sum, e3), plus(difference, e2), minus(difference, e2), minus(sum, e3)];
    let pairs = halves(_mm256_add_epi16(x[7], x[3]), _mm256_add_epi16(x[5], x[1]));
    let y3 = times(pairs, factors(9633 - 16069, 9633));
    let y4 = times(pairs, factors(9633, 9633 - 3196));
    let outer = halves(x[7], x[1]);
    let inner = halves(x[5], x[3]);
    let odd = [
        plus(times(outer, factors(-7373, 12299 - 7373)), y4),
        plus(times(inner, factors(-20995, 25172 - 20995)), y3),
        plus(times(inner, factors(16819 - 20995, -20995)), y4),
        plus(times(outer, factors(2446 - 7373, -7373)), y3),
    ];
    [
        down(plus(even[0], odd[0])),
        down(plus(even[1], odd[1])),
        down(plus(even[2], odd[2])),
        down(plus(even[3], odd[3])),
        down(minus(even[3], odd[3])),
        down(minus(even[2], odd[2])),
        down(minus(even[1], odd[1])),
        down(minus(even[0], odd[0])),
    ]
}

/// The columns of the result, still of 16 bits; `below` is zero in the halves whose block has coefficients in its first
/// row only.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn accurate(rows: [V; 8], below: V) -> [V; 8] {
    let mut work = accurate_pass::<11>(rows);
    // A block without anything below its first row wraps where the full formula would saturate.
    let zero = _mm256_cmpeq_epi64(below, _mm256_setzero_si256());
    let zero = _mm256_and_si256(zero, _mm256_shuffle_epi32::<0b01_00_11_10>(zero));
    let flat = _mm256_slli_epi16::<2>(rows[0]);
    for v in &mut work {
        *v = _mm256_blendv_epi8(*v, flat, zero);
    }
    accurate_pass::<18>(transpose(work))
}
