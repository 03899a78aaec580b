//! The transforms to 4x4 and to 2x2 samples; see `half` and `quarter` of [`crate::idct`].
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::idct::V;

type Four = int16x4_t;

/// `half_pass` of 4 times 8 values (that in the middle is not used), not yet shifted down.
#[inline]
#[target_feature(enable = "neon")]
fn half_pass(x: [Four; 8], round: i32) -> [int32x4_t; 4] {
    let start = vaddq_s32(vshll_n_s16::<14>(x[0]), vdupq_n_s32(round));
    let e2 = vmlal_n_s16(vmull_n_s16(x[2], 15137), x[6], -6270);
    let sum = |f: [i16; 4]| {
        let sum = vmlal_n_s16(vmull_n_s16(x[1], f[0]), x[3], f[1]);
        vmlal_n_s16(vmlal_n_s16(sum, x[5], f[2]), x[7], f[3])
    };
    let o2 = sum([20995, 7373, -4926, -4176]);
    let o0 = sum([8697, -17799, 11893, -1730]);
    let (a, b) = (vaddq_s32(start, e2), vsubq_s32(start, e2));
    [vaddq_s32(a, o2), vaddq_s32(b, o0), vsubq_s32(b, o0), vsubq_s32(a, o2)]
}

/// Stores 4 rows of 4 samples; `is_flat` says that there are coefficients in the first row (and the fifth) only.
///
/// # Safety
///
/// There is room for them.
#[inline]
#[target_feature(enable = "neon")]
pub(super) unsafe fn half(rows: [V; 8], is_flat: bool, out: *mut u8, stride: usize) {
    let mut work = [vshlq_n_s16::<2>(rows[0]); 4];
    if !is_flat {
        let (mut low, mut high) = ([vdup_n_s16(0); 8], [vdup_n_s16(0); 8]);
        for ((row, low), high) in rows.iter().zip(&mut low).zip(&mut high) {
            (*low, *high) = (vget_low_s16(*row), vget_high_s16(*row));
        }
        let (low, high) = (half_pass(low, 1 << 11), half_pass(high, 1 << 11));
        for ((to, low), high) in work.iter_mut().zip(low).zip(high) {
            *to = vqshrn_high_n_s32::<12>(vqshrn_n_s32::<12>(low), high);
        }
    }
    let couple = |a, b| [vzip1q_s16(a, b), vzip2q_s16(a, b)].map(|v| vreinterpretq_s32_s16(v));
    let (upper, lower) = (couple(work[0], work[1]), couple(work[2], work[3]));
    // Columns 0 and 1, 2 and 3 and so on, with 4 values each.
    let columns = [
        vzip1q_s32(upper[0], lower[0]),
        vzip2q_s32(upper[0], lower[0]),
        vzip1q_s32(upper[1], lower[1]),
        vzip2q_s32(upper[1], lower[1]),
    ];
    let mut x = [vdup_n_s16(0); 8];
    for (x, two) in x.chunks_exact_mut(2).zip(columns) {
        let two = vreinterpretq_s16_s32(two);
        (x[0], x[1]) = (vget_low_s16(two), vget_high_s16(two));
    }
    let [a, b, c, d] = half_pass(x, 1 << 18);
    let down = |a, b| vqshrn_n_s16::<3>(vshrn_high_n_s32::<16>(vshrn_n_s32::<16>(a), b));
    let columns = vreinterpretq_u8_s8(vcombine_s8(down(a, b), down(c, d)));
    static TURN: [u8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
    // SAFETY: the caller's word, and the table has 16 bytes.
    unsafe {
        let samples = veorq_u8(vqtbl1q_u8(columns, vld1q_u8(TURN.as_ptr())), vdupq_n_u8(128));
        let samples = vreinterpretq_u32_u8(samples);
        let row = |r: usize| out.add(r * stride).cast::<u32>();
        row(0).write_unaligned(vgetq_lane_u32::<0>(samples));
        row(1).write_unaligned(vgetq_lane_u32::<1>(samples));
        row(2).write_unaligned(vgetq_lane_u32::<2>(samples));
        row(3).write_unaligned(vgetq_lane_u32::<3>(samples));
    }
}

/// Stores 2 rows of 2 samples.
///
/// # Safety
///
/// There is room for them.
#[inline]
#[target_feature(enable = "neon")]
pub(super) unsafe fn quarter(rows: [V; 8], out: *mut u8, stride: usize) {
    static WEIGHTS: [i16; 8] = [0, 29692, 0, -10426, 0, 6967, 0, -5906];
    let round = vdupq_n_s32(1 << 12);
    // Upper and lower row; of the first column 32 bits are needed.
    let part = |x: [Four; 5]| {
        let start = vaddq_s32(vshll_n_s16::<15>(x[0]), round);
        let odd = vmlal_n_s16(vmull_n_s16(x[1], 29692), x[2], -10426);
        let odd = vmlal_n_s16(vmlal_n_s16(odd, x[3], 6967), x[4], -5906);
        [vshrq_n_s32::<13>(vaddq_s32(start, odd)), vshrq_n_s32::<13>(vsubq_s32(start, odd))]
    };
    let used = [rows[0], rows[1], rows[3], rows[5], rows[7]];
    let (low, high) = (part(used.map(|v| vget_low_s16(v))), part(used.map(|v| vget_high_s16(v))));
    // SAFETY: there are 8 of them.
    let weights = unsafe { vld1q_s16(WEIGHTS.as_ptr()) };
    for r in 0..2 {
        let row = vqmovn_high_s32(vqmovn_s32(low[r]), high[r]);
        let odd = vmull_s16(vget_low_s16(row), vget_low_s16(weights));
        let odd = vaddvq_s32(vmlal_high_s16(odd, row, weights));
        let start = (vgetq_lane_s32::<0>(low[r]) << 15).wrapping_add(1 << 19);
        let sample = |v: i32| ((v >> 20).clamp(-128, 127) + 128) as u8;
        let pair = [sample(start.wrapping_add(odd)), sample(start.wrapping_sub(odd))];
        // SAFETY: the caller's word.
        unsafe { out.add(r * stride).cast::<[u8; 2]>().write(pair) };
    }
}
