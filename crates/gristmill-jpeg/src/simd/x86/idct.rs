//! The transforms of two blocks side by side, one in each half of the vectors.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::masks::{ANY, BELOW, MASKS};
use super::passes256::{accurate_pass, fast_pass, transpose};
use super::reduced::{half, quarter};
use crate::block::{Block, EMPTY};
use crate::idct::Kind;
use crate::simd::Strip;

pub(super) type V = __m256i;

/// The kinds as numbers, for generic arguments.
const FAST: usize = 0;
const ACCURATE: usize = 1;
const HALF: usize = 2;
const QUARTER: usize = 3;
/// Samples of a block and direction.
const SIZES: [usize; 4] = [8, 8, 4, 2];

/// [`crate::simd::Level::transform`] for all kinds but `Eighth`.
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
    let kind = match kind {
        Kind::Accurate => ACCURATE,
        Kind::Half => HALF,
        Kind::Quarter => QUARTER,
        _ => FAST,
    };
    let size = SIZES[kind];
    assert!(strip.h > 0 && out.len() >= (size - 1) * stride + strip.count.next_multiple_of(2) * size);
    let last = strip.place(strip.first + strip.count - 1);
    assert!(
        strip.place(strip.first) < blocks.len()
            && last < blocks.len()
            && extents.len() >= blocks.len().min(last + 1)
    );
    let m = Multipliers(std::array::from_fn(|i| std::array::from_fn(|j| multipliers[i * 8 + j % 8])));
    // SAFETY: `Level::detect` has found AVX2; the places grow with the column, so all are inside `blocks` and `extents`,
    // and `out` has room for the samples, as just checked.
    unsafe {
        match kind {
            ACCURATE => run::<ACCURATE>(&m, blocks, extents, strip, out.as_mut_ptr(), stride),
            HALF => run::<HALF>(&m, blocks, extents, strip, out.as_mut_ptr(), stride),
            QUARTER => run::<QUARTER>(&m, blocks, extents, strip, out.as_mut_ptr(), stride),
            _ => run::<FAST>(&m, blocks, extents, strip, out.as_mut_ptr(), stride),
        }
    }
}

/// Each eighth twice, for the two halves of a vector.
#[repr(align(32))]
struct Multipliers([[i16; 16]; 8]);

/// # Safety
///
/// The processor has AVX2; see [`transform`] for the sizes.
#[target_feature(enable = "avx2")]
unsafe fn run<const KIND: usize>(
    m: &Multipliers,
    blocks: &mut [Block],
    extents: &[u8],
    strip: Strip,
    out: *mut u8,
    stride: usize,
) {
    let mut spare = EMPTY;
    let base = blocks.as_mut_ptr();
    let mut places = strip.places();
    for i in (0..strip.count).step_by(2) {
        let Some(a) = places.next() else { return };
        let b = places.next().unwrap_or(a);
        // SAFETY: the caller's word; `a` and `b` are different places or `b` is the spare block, and columns up to the
        // next even number have room.
        unsafe {
            let extent = (*extents.get_unchecked(a)).max(*extents.get_unchecked(b));
            let second = if a == b { &raw mut spare } else { base.add(b) };
            let (a, b, out) = (base.add(a).cast(), second.cast(), out.add(i * SIZES[KIND]));
            match extent {
                ..2 => flat::<KIND>(a, b, m, out, stride),
                2..17 => pair::<KIND, 2>(a, b, m, out, stride),
                17..33 => pair::<KIND, 4>(a, b, m, out, stride),
                33..49 => pair::<KIND, 6>(a, b, m, out, stride),
                _ => pair::<KIND, 8>(a, b, m, out, stride),
            }
        }
    }
}

/// Two blocks of which nothing but the DC coefficients is other than zero.
///
/// # Safety
///
/// As [`pair`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn flat<const KIND: usize>(a: *mut i16, b: *mut i16, m: &Multipliers, out: *mut u8, stride: usize) {
    // SAFETY: the caller's word.
    unsafe {
        let sample = |block: *mut i16| {
            let dc = (*block).wrapping_mul(m.0[0][0]);
            *block = 0;
            let value = match KIND {
                FAST => i32::from(dc >> 5),
                QUARTER => (i32::from(dc) << 17).wrapping_add(1 << 19) >> 20,
                _ => (i32::from(dc << 2) + 16) >> 5,
            };
            (value.clamp(-128, 127) + 128) as u64 * 0x0101_0101_0101_0101
        };
        let row = _mm_set_epi64x(sample(b) as i64, sample(a) as i64);
        for r in 0..SIZES[KIND] {
            let to = out.add(r * stride);
            match KIND {
                HALF => _mm_storel_epi64(to.cast(), _mm_shuffle_epi32::<0b10_00>(row)),
                QUARTER => {
                    let words = _mm_unpackhi_epi16(_mm_slli_si128::<8>(row), row);
                    to.cast::<u32>().write_unaligned(_mm_cvtsi128_si32(words).cast_unsigned());
                }
                _ => _mm_storeu_si128(to.cast(), row),
            }
        }
    }
}

/// Transforms the blocks at `a` and `b` and makes them zero.
///
/// # Safety
///
/// The processor has AVX2. Both have 64 coefficients, of which all but the first `8 * N` are zero; the
/// samples have room.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn pair<const KIND: usize, const N: usize>(
    a: *mut i16,
    b: *mut i16,
    m: &Multipliers,
    out: *mut u8,
    stride: usize,
) {
    let zero = _mm256_setzero_si256();
    let mut z = [zero; 8];
    let mut below = zero;
    macro_rules! eighths {
        ($($i:literal)*) => {
            $(if $i < N {
                // SAFETY: the caller's word; blocks, multipliers and masks are aligned.
                unsafe {
                    let (a, b) = (a.cast::<__m128i>().add($i), b.cast::<__m128i>().add($i));
                    let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(_mm_load_si128(a)), _mm_load_si128(b));
                    z[$i] = _mm256_mullo_epi16(both, _mm256_load_si256(m.0[$i].as_ptr().cast()));
                    if KIND == ACCURATE || KIND == HALF {
                        let mask = _mm256_load_si256(BELOW[KIND - ACCURATE].0[$i].as_ptr().cast());
                        below = _mm256_or_si256(below, _mm256_and_si256(both, mask));
                    }
                }
            })*
        };
    }
    eighths!(0 1 2 3 4 5 6 7);
    for i in 0..N / 2 {
        // SAFETY: the caller's word; blocks are aligned.
        unsafe {
            _mm256_store_si256(a.cast::<__m256i>().add(i), zero);
            _mm256_store_si256(b.cast::<__m256i>().add(i), zero);
        }
    }
    let rows = natural::<N>(&z);
    // SAFETY: the caller's word.
    unsafe {
        match KIND {
            ACCURATE => store(accurate(rows, below), out, stride),
            HALF => half(rows, below, out, stride),
            QUARTER => quarter(rows, out, stride),
            _ => store(fast(rows), out, stride),
        }
    }
}

/// The first `N` eighths of the zigzag order as rows.
#[inline(always)]
unsafe fn natural_unsafe<const N: usize>(z: &[V; 8]) -> [V; 8] {
    // SAFETY: the masks are aligned.
    unsafe {
        let mut rows = [_mm256_setzero_si256(); 8];
        macro_rules! row {
            ($r:literal: $($c:literal)*) => {
                $(if ANY[$r][$c] && $c < N {
                    let mask = _mm256_load_si256(MASKS.0[$r][$c].as_ptr().cast());
                    rows[$r] = _mm256_or_si256(rows[$r], _mm256_shuffle_epi8(z[$c], mask));
                })*
            };
        }
        row!(0: 0 1 2 3 4 5 6 7);
        row!(1: 0 1 2 3 4 5 6 7);
        row!(2: 0 1 2 3 4 5 6 7);
        row!(3: 0 1 2 3 4 5 6 7);
        row!(4: 0 1 2 3 4 5 6 7);
        row!(5: 0 1 2 3 4 5 6 7);
        row!(6: 0 1 2 3 4 5 6 7);
        row!(7: 0 1 2 3 4 5 6 7);
        rows
    }
}

/// See [`natural_unsafe`].
#[inline]
#[target_feature(enable = "avx2")]
fn natural<const N: usize>(z: &[V; 8]) -> [V; 8] {
    // SAFETY: the function has the feature.
    unsafe { natural_unsafe::<N>(z) }
}

/// The columns of the result, still of 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn fast(rows: [V; 8]) -> [V; 8] {
    let mut columns = fast_pass(transpose(fast_pass(rows)));
    // No `map` in these functions: its closure would not be inlined.
    for v in &mut columns {
        *v = _mm256_srai_epi16::<5>(*v);
    }
    columns
}

/// The columns of the result, still of 16 bits; `below` is zero in the halves whose block has coefficients in its first
/// row only.
#[inline]
#[target_feature(enable = "avx2")]
fn accurate(rows: [V; 8], below: V) -> [V; 8] {
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

/// Stores the columns of two blocks as 8 rows of 16 samples.
///
/// # Safety
///
/// There is room for them.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(c: [V; 8], out: *mut u8, stride: usize) {
    // Each half: columns i and i + 4, 8 rows of each.
    let p: [V; 4] = [
        _mm256_packs_epi16(c[0], c[4]),
        _mm256_packs_epi16(c[1], c[5]),
        _mm256_packs_epi16(c[2], c[6]),
        _mm256_packs_epi16(c[3], c[7]),
    ];
    let (x01, x45) = (_mm256_unpacklo_epi8(p[0], p[1]), _mm256_unpackhi_epi8(p[0], p[1]));
    let (x23, x67) = (_mm256_unpacklo_epi8(p[2], p[3]), _mm256_unpackhi_epi8(p[2], p[3]));
    let left = [_mm256_unpacklo_epi16(x01, x23), _mm256_unpackhi_epi16(x01, x23)];
    let right = [_mm256_unpacklo_epi16(x45, x67), _mm256_unpackhi_epi16(x45, x67)];
    let center = _mm256_set1_epi8(-128);
    for i in 0..2 {
        let rows = [_mm256_unpacklo_epi32(left[i], right[i]), _mm256_unpackhi_epi32(left[i], right[i])];
        for (j, rows) in rows.into_iter().enumerate() {
            // Two rows of the first block and two of the second.
            let rows = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_xor_si256(rows, center));
            // SAFETY: the caller's word.
            unsafe {
                let to = out.add((4 * i + 2 * j) * stride);
                _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(rows));
                _mm_storeu_si128(to.add(stride).cast(), _mm256_extracti128_si256::<1>(rows));
            }
        }
    }
}
