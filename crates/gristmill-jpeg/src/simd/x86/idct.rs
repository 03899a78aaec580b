//! The transforms of two blocks side by side, one in each half of the vectors.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::accurate::accurate;
use super::masks::{ANY, BELOW, MASKS};
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
    // The place of the next block, and how many until the next step.
    let mut place = strip.place(strip.first);
    let mut left = strip.h - strip.first % strip.h;
    let mut next = || {
        let this = place;
        left -= 1;
        place += 1;
        if left == 0 {
            left = strip.h;
            place += strip.step - strip.h;
        }
        this
    };
    for i in (0..strip.count).step_by(2) {
        let a = next();
        let b = if i + 1 < strip.count { next() } else { a };
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

/// [`crate::idct::fast_pass`].
#[inline]
#[target_feature(enable = "avx2")]
fn fast_pass(r: [V; 8]) -> [V; 8] {
    let constant = |c: i16| _mm256_set1_epi16(c);
    let (c1_414, c1_847) = (constant(362 << 6), constant(473 << 6));
    let (c1_082, m1_613) = (constant(277 << 6), constant(-(413 << 6)));
    let add = |a, b| _mm256_add_epi16(a, b);
    let sub = |a, b| _mm256_sub_epi16(a, b);
    let four = |a| _mm256_slli_epi16::<2>(a);
    let high = |a, b| _mm256_mulhi_epi16(a, b);
    let (t10, t11) = (add(r[0], r[4]), sub(r[0], r[4]));
    let t13 = add(r[2], r[6]);
    let t12 = sub(high(four(sub(r[2], r[6])), c1_414), t13);
    let (t0, t3) = (add(t10, t13), sub(t10, t13));
    let (t1, t2) = (add(t11, t12), sub(t11, t12));
    let (z13, z10) = (add(r[5], r[3]), sub(r[5], r[3]));
    let (z11, z12) = (add(r[1], r[7]), sub(r[1], r[7]));
    let t7 = add(z11, z13);
    let o11 = high(four(sub(z11, z13)), c1_414);
    let (y10, y12) = (four(z10), four(z12));
    let z5 = high(add(y10, y12), c1_847);
    let o12 = add(sub(high(y10, m1_613), z10), z5);
    let o10 = sub(high(y12, c1_082), z5);
    let t6 = sub(o12, t7);
    let t5 = sub(o11, t6);
    let t4 = add(o10, t5);
    [add(t0, t7), add(t1, t6), add(t2, t5), sub(t3, t4), add(t3, t4), sub(t2, t5), sub(t1, t6), sub(t0, t7)]
}

/// Two pairs of factors for `madd`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn factors(first: i32, second: i32) -> V {
    _mm256_set1_epi32(second << 16 | (first & 0xFFFF))
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

/// Transposes the 8x8 values in each half.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose(r: [V; 8]) -> [V; 8] {
    let low16 = |a, b| _mm256_unpacklo_epi16(a, b);
    let high16 = |a, b| _mm256_unpackhi_epi16(a, b);
    let low32 = |a, b| _mm256_unpacklo_epi32(a, b);
    let high32 = |a, b| _mm256_unpackhi_epi32(a, b);
    let a = [
        low16(r[0], r[1]),
        low16(r[2], r[3]),
        low16(r[4], r[5]),
        low16(r[6], r[7]),
        high16(r[0], r[1]),
        high16(r[2], r[3]),
        high16(r[4], r[5]),
        high16(r[6], r[7]),
    ];
    let b = [
        low32(a[0], a[1]),
        low32(a[2], a[3]),
        high32(a[0], a[1]),
        high32(a[2], a[3]),
        low32(a[4], a[5]),
        low32(a[6], a[7]),
        high32(a[4], a[5]),
        high32(a[6], a[7]),
    ];
    let low64 = |i: usize| _mm256_unpacklo_epi64(b[i], b[i + 1]);
    let high64 = |i: usize| _mm256_unpackhi_epi64(b[i], b[i + 1]);
    [low64(0), high64(0), low64(2), high64(2), low64(4), high64(4), low64(6), high64(6)]
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
