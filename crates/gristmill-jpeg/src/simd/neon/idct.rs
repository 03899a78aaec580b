//! The transforms, one block at a time.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::reduced::{half, quarter};
use crate::block::{Block, ZIGZAG};
use crate::idct::Kind;
use crate::simd::Strip;

pub(super) type V = int16x8_t;

/// For each row where its coefficients are in the zigzag order, in bytes.
static PLACES: [[u8; 16]; 8] = {
    let mut places = [[0; 16]; 8];
    let mut i = 0;
    while i < 64 {
        let (row, column) = (ZIGZAG[i] as usize / 8, ZIGZAG[i] as usize % 8);
        places[row][2 * column] = 2 * i as u8;
        places[row][2 * column + 1] = 2 * i as u8 + 1;
        i += 1;
    }
    places
};

/// The first and the last zigzag position of each row.
const REACH: [(usize, usize); 8] = {
    let mut reach = [(64, 0); 8];
    let mut i = 0;
    while i < 64 {
        let row = &mut reach[ZIGZAG[i] as usize / 8];
        if row.0 == 64 {
            row.0 = i;
        }
        row.1 = i;
        i += 1;
    }
    reach
};

/// All ones for the zigzag positions that are in none of the rows.
const fn below(rows: u32) -> [i16; 64] {
    let mut mask = [-1; 64];
    let mut i = 0;
    while i < 64 {
        if rows >> (ZIGZAG[i] / 8) & 1 != 0 {
            mask[i] = 0;
        }
        i += 1;
    }
    mask
}

/// Without the first row; and without the first and the fifth, which the half transform does not use.
static BELOW: [[i16; 64]; 2] = [below(0b1), below(0b1_0001)];

/// The kinds as numbers, for generic arguments.
const FAST: usize = 0;
const ACCURATE: usize = 1;
const HALF: usize = 2;
const QUARTER: usize = 3;
/// Samples of a block and direction.
const SIZES: [usize; 4] = [8, 8, 4, 2];

/// [`crate::simd::Level::transform`] for all kinds but `Eighth`.
pub(in crate::simd) fn transform(
    _: bool,
    kind: Kind,
    multipliers: &[i16; 64],
    blocks: &mut [Block],
    extents: &[u8],
    strip: Strip,
    out: &mut [u8],
    stride: usize,
) {
    // SAFETY: every processor of this target has NEON.
    unsafe {
        match kind {
            Kind::Accurate => run::<ACCURATE>(multipliers, blocks, extents, strip, out, stride),
            Kind::Half => run::<HALF>(multipliers, blocks, extents, strip, out, stride),
            Kind::Quarter => run::<QUARTER>(multipliers, blocks, extents, strip, out, stride),
            _ => run::<FAST>(multipliers, blocks, extents, strip, out, stride),
        }
    }
}

#[target_feature(enable = "neon")]
fn run<const KIND: usize>(
    m: &[i16; 64],
    blocks: &mut [Block],
    extents: &[u8],
    strip: Strip,
    out: &mut [u8],
    stride: usize,
) {
    if strip.count == 0 {
        return;
    }
    let size = SIZES[KIND];
    assert!(strip.h > 0 && out.len() >= (size - 1) * stride + strip.count * size);
    let out = out.as_mut_ptr();
    for (i, place) in strip.places().enumerate() {
        let (block, extent) = (&mut blocks[place], extents[place]);
        // SAFETY: the rows have room behind those of the blocks before, as just checked.
        let out = unsafe { out.add(size * i) };
        // Only the first steps have shorter ways: one copy of the rest is enough.
        let first = match extent {
            ..2 => None,
            2..17 => Some(first_pass::<KIND, 2>(block, m)),
            17..33 => Some(first_pass::<KIND, 4>(block, m)),
            33..49 => Some(first_pass::<KIND, 6>(block, m)),
            _ => Some(first_pass::<KIND, 8>(block, m)),
        };
        // SAFETY: as just said.
        unsafe {
            match (first, KIND) {
                (None, _) => flat::<KIND>(block, m, out, stride),
                (Some((work, _)), ACCURATE) => {
                    store::<2>(accurate_pass::<true>(transpose(work)), out, stride);
                }
                (Some((rows, is_flat)), HALF) => half(rows, is_flat, out, stride),
                (Some((rows, _)), QUARTER) => quarter(rows, out, stride),
                (Some((work, _)), _) => store::<5>(fast_pass(transpose(work)), out, stride),
            }
        }
    }
}

/// A block of which nothing but the DC coefficient is other than zero.
///
/// # Safety
///
/// The samples have room.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn flat<const KIND: usize>(block: &mut Block, m: &[i16; 64], out: *mut u8, stride: usize) {
    let dc = block.0[0].wrapping_mul(m[0]);
    block.0[0] = 0;
    let value = match KIND {
        FAST => i32::from(dc >> 5),
        QUARTER => (i32::from(dc) << 17).wrapping_add(1 << 19) >> 20,
        _ => (i32::from(dc << 2) + 16) >> 5,
    };
    let row = vdup_n_u8((value.clamp(-128, 127) + 128) as u8);
    for r in 0..SIZES[KIND] {
        // SAFETY: the caller's word.
        unsafe {
            let to = out.add(r * stride);
            let four = vget_lane_u32::<0>(vreinterpret_u32_u8(row));
            match KIND {
                HALF => to.cast::<u32>().write_unaligned(four),
                QUARTER => to.cast::<u16>().write_unaligned(four as u16),
                _ => vst1_u8(to, row),
            }
        }
    }
}

/// Takes a block, of which all but the first `8 * N` coefficients are zero, and makes it zero. Gives the first pass over
/// it, or its rows if the transform is to fewer samples; and whether the rows below are zero.
#[inline]
#[target_feature(enable = "neon")]
fn first_pass<const KIND: usize, const N: usize>(block: &mut Block, m: &[i16; 64]) -> ([V; 8], bool) {
    let mut z = [vdupq_n_s16(0); 8];
    let mut below = vdupq_n_s16(0);
    for (i, z) in z.iter_mut().enumerate().take(N) {
        // SAFETY: all have 64 values.
        unsafe {
            let c = vld1q_s16(block.0.as_ptr().add(8 * i));
            *z = vmulq_s16(c, vld1q_s16(m.as_ptr().add(8 * i)));
            if KIND == ACCURATE || KIND == HALF {
                let mask = vld1q_s16(BELOW[KIND - ACCURATE].as_ptr().add(8 * i));
                below = vorrq_s16(below, vandq_s16(c, mask));
            }
        }
    }
    block.0[..8 * N].fill(0);
    let rows = natural::<N>(&z);
    let is_flat = matches!(KIND, ACCURATE | HALF) && vmaxvq_u16(vreinterpretq_u16_s16(below)) == 0;
    let work = match KIND {
        FAST => fast_pass(rows),
        // Wraps where the full formula would saturate.
        ACCURATE if is_flat => [vshlq_n_s16::<2>(rows[0]); 8],
        ACCURATE => accurate_pass::<false>(rows),
        _ => rows,
    };
    (work, is_flat)
}

/// The first `N` eighths of the zigzag order as rows.
#[inline]
#[target_feature(enable = "neon")]
fn natural<const N: usize>(z: &[V; 8]) -> [V; 8] {
    let z: [uint8x16_t; 8] = std::array::from_fn(|i| vreinterpretq_u8_s16(z[i]));
    let (lower, upper) = (uint8x16x4_t(z[0], z[1], z[2], z[3]), uint8x16x4_t(z[4], z[5], z[6], z[7]));
    let mut rows = [vdupq_n_s16(0); 8];
    for (r, row) in rows.iter_mut().enumerate() {
        let (first, last) = REACH[r];
        if first >= 8 * N {
            continue;
        }
        // SAFETY: 16 bytes.
        let places = unsafe { vld1q_u8(PLACES[r].as_ptr()) };
        // Places outside of a table give zero, or leave what was there.
        let mut found = match (first, N) {
            (32.., _) => vdupq_n_u8(0),
            (_, 2) => vqtbl2q_u8(uint8x16x2_t(z[0], z[1]), places),
            _ => vqtbl4q_u8(lower, places),
        };
        if N > 4 && last >= 32 {
            let places = vsubq_u8(places, vdupq_n_u8(64));
            found = if N == 6 {
                vqtbx2q_u8(found, uint8x16x2_t(z[4], z[5]), places)
            } else {
                vqtbx4q_u8(found, upper, places)
            };
        }
        *row = vreinterpretq_s16_u8(found);
    }
    rows
}

/// [`crate::idct::fast_pass`].
#[inline]
#[target_feature(enable = "neon")]
fn fast_pass(r: [V; 8]) -> [V; 8] {
    let add = |a, b| vaddq_s16(a, b);
    let sub = |a, b| vsubq_s16(a, b);
    let four = |a| vshlq_n_s16::<2>(a);
    // The upper half of the product with `c << 6`; the instruction doubles.
    let high = |a, c: i16| vqdmulhq_n_s16(a, c << 5);
    let (t10, t11) = (add(r[0], r[4]), sub(r[0], r[4]));
    let t13 = add(r[2], r[6]);
    let t12 = sub(high(four(sub(r[2], r[6])), 362), t13);
    let (t0, t3) = (add(t10, t13), sub(t10, t13));
    let (t1, t2) = (add(t11, t12), sub(t11, t12));
    let (z13, z10) = (add(r[5], r[3]), sub(r[5], r[3]));
    let (z11, z12) = (add(r[1], r[7]), sub(r[1], r[7]));
    let t7 = add(z11, z13);
    let o11 = high(four(sub(z11, z13)), 362);
    let (y10, y12) = (four(z10), four(z12));
    let z5 = high(add(y10, y12), 473);
    let o12 = add(sub(high(y10, -413), z10), z5);
    let o10 = sub(high(y12, 277), z5);
    let t6 = sub(o12, t7);
    let t5 = sub(o11, t6);
    let t4 = add(o10, t5);
    [add(t0, t7), add(t1, t6), add(t2, t5), sub(t3, t4), add(t3, t4), sub(t2, t5), sub(t1, t6), sub(t0, t7)]
}

/// The two halves of a vector in 32 bits.
type W = [int32x4_t; 2];

#[inline]
#[target_feature(enable = "neon")]
fn times(a: V, c: i16) -> W {
    [vmull_n_s16(vget_low_s16(a), c), vmull_high_n_s16(a, c)]
}

#[inline]
#[target_feature(enable = "neon")]
fn and_times(sum: W, a: V, c: i16) -> W {
    [vmlal_n_s16(sum[0], vget_low_s16(a), c), vmlal_high_n_s16(sum[1], a, c)]
}

/// A pass of the accurate transform (see `accurate_pass` of [`crate::idct`]), the first, or the second, which leaves two
/// more bits to be shifted out.
#[inline]
#[target_feature(enable = "neon")]
fn accurate_pass<const SECOND: bool>(x: [V; 8]) -> [V; 8] {
    let plus = |a: W, b: W| [vaddq_s32(a[0], b[0]), vaddq_s32(a[1], b[1])];
    let minus = |a: W, b: W| [vsubq_s32(a[0], b[0]), vsubq_s32(a[1], b[1])];
    // Half a unit of the result is in all sums through these two.
    let half = vdupq_n_s32(if SECOND { 1 << 17 } else { 1 << 10 });
    let scaled = |v| {
        let (low, high) = (vshll_n_s16::<13>(vget_low_s16(v)), vshll_high_n_s16::<13>(v));
        [vaddq_s32(low, half), vaddq_s32(high, half)]
    };
    let down = |v: W| {
        if SECOND {
            vshrn_high_n_s32::<16>(vshrn_n_s32::<16>(v[0]), v[1])
        } else {
            vqshrn_high_n_s32::<11>(vqshrn_n_s32::<11>(v[0]), v[1])
        }
    };
    let e3 = and_times(times(x[2], 4433 + 6270), x[6], 4433);
    let e2 = and_times(times(x[2], 4433), x[6], 4433 - 15137);
    let sum = scaled(vaddq_s16(x[0], x[4]));
    let difference = scaled(vsubq_s16(x[0], x[4]));
    let even = [plus(sum, e3), plus(difference, e2), minus(difference, e2), minus(sum, e3)];
    let (z3, z4) = (vaddq_s16(x[7], x[3]), vaddq_s16(x[5], x[1]));
    let y3 = and_times(times(z3, 9633 - 16069), z4, 9633);
    let y4 = and_times(times(z3, 9633), z4, 9633 - 3196);
    let odd = [
        and_times(and_times(y4, x[7], -7373), x[1], 12299 - 7373),
        and_times(and_times(y3, x[5], -20995), x[3], 25172 - 20995),
        and_times(and_times(y4, x[5], 16819 - 20995), x[3], -20995),
        and_times(and_times(y3, x[7], 2446 - 7373), x[1], -7373),
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

/// Transposes 8x8 values.
#[inline]
#[target_feature(enable = "neon")]
fn transpose(r: [V; 8]) -> [V; 8] {
    let pairs = |a: V, b: V| {
        let (x, y) = (vtrn1q_s16(a, b), vtrn2q_s16(a, b));
        (vreinterpretq_s32_s16(x), vreinterpretq_s32_s16(y))
    };
    let fours = |a, b| {
        let (x, y) = (vtrn1q_s32(a, b), vtrn2q_s32(a, b));
        (vreinterpretq_s64_s32(x), vreinterpretq_s64_s32(y))
    };
    let eights = |a, b| {
        let (x, y) = (vtrn1q_s64(a, b), vtrn2q_s64(a, b));
        (vreinterpretq_s16_s64(x), vreinterpretq_s16_s64(y))
    };
    let ((a0, a1), (a2, a3)) = (pairs(r[0], r[1]), pairs(r[2], r[3]));
    let ((a4, a5), (a6, a7)) = (pairs(r[4], r[5]), pairs(r[6], r[7]));
    let ((b0, b2), (b1, b3)) = (fours(a0, a2), fours(a1, a3));
    let ((b4, b6), (b5, b7)) = (fours(a4, a6), fours(a5, a7));
    let ((c0, c4), (c1, c5)) = (eights(b0, b4), eights(b1, b5));
    let ((c2, c6), (c3, c7)) = (eights(b2, b6), eights(b3, b7));
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// Stores columns as 8 rows of samples, after shifting them down by `SHIFT`.
///
/// # Safety
///
/// There is room for them.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store<const SHIFT: i32>(c: [V; 8], out: *mut u8, stride: usize) {
    let pair = |a: V, b: V| vqshrn_high_n_s16::<SHIFT>(vqshrn_n_s16::<SHIFT>(a), b);
    // Columns i and i + 4, 8 rows of each.
    let p = [pair(c[0], c[4]), pair(c[1], c[5]), pair(c[2], c[6]), pair(c[3], c[7])];
    let couple = |a: int8x16_t, b: int8x16_t| {
        (vreinterpretq_s16_s8(vzip1q_s8(a, b)), vreinterpretq_s16_s8(vzip2q_s8(a, b)))
    };
    let ((x01, x45), (x23, x67)) = (couple(p[0], p[1]), couple(p[2], p[3]));
    let left = [vzip1q_s16(x01, x23), vzip2q_s16(x01, x23)];
    let right = [vzip1q_s16(x45, x67), vzip2q_s16(x45, x67)];
    for i in 0..2 {
        let (l, r) = (vreinterpretq_s32_s16(left[i]), vreinterpretq_s32_s16(right[i]));
        for (j, rows) in [vzip1q_s32(l, r), vzip2q_s32(l, r)].into_iter().enumerate() {
            let rows = veorq_u8(vreinterpretq_u8_s32(rows), vdupq_n_u8(128));
            // SAFETY: the caller's word.
            unsafe {
                let to = out.add((4 * i + 2 * j) * stride);
                vst1_u8(to, vget_low_u8(rows));
                vst1_u8(to.add(stride), vget_high_u8(rows));
            }
        }
    }
}
