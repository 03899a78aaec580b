//! The inverse DCTs, one value at a time. They define what the vector code gives; all follow the arithmetic of
//! libjpeg-turbo's x86 vector code, which differs from its C code for coefficients that no encoder makes (16-bit
//! products wrap, the results between the two passes saturate).

use crate::block::{Block, ZIGZAG};
use crate::marker::Quant;
use crate::options::Dct;

/// Which transform turns a block into samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Kind {
    /// 8x8, 16-bit arithmetic.
    #[default]
    Fast,
    /// 8x8, 32-bit arithmetic.
    Accurate,
    /// 4x4 samples.
    Half,
    /// 2x2 samples.
    Quarter,
    /// 1 sample.
    Eighth,
}

impl Kind {
    /// The transform that gives `size` x `size` samples.
    pub(crate) fn of(size: usize, dct: Dct) -> Self {
        match (size, dct) {
            (1, _) => Self::Eighth,
            (2, _) => Self::Quarter,
            (4, _) => Self::Half,
            (_, Dct::Fast) => Self::Fast,
            (_, Dct::Accurate) => Self::Accurate,
        }
    }

    /// The multipliers of the coefficients, in zigzag order as `quant`.
    pub(crate) fn multipliers(self, quant: &Quant) -> [i16; 64] {
        let mut result = [0; 64];
        for (i, m) in result.iter_mut().enumerate() {
            *m = if self == Self::Fast {
                ((i32::from(quant[i]) * SCALES[usize::from(ZIGZAG[i])] + (1 << 11)) >> 12) as i16
            } else {
                quant[i] as i16
            };
        }
        result
    }

    /// Transforms a block into the samples at the start of `out`, whose rows are `stride` apart.
    pub(crate) fn transform(self, block: &Block, multipliers: &[i16; 64], out: &mut [u8], stride: usize) {
        if self == Self::Eighth {
            out[0] = eighth(block.0[0], multipliers[0]);
            return;
        }
        let mut natural = [0i16; 64];
        for i in 0..64 {
            natural[usize::from(ZIGZAG[i])] = block.0[i].wrapping_mul(multipliers[i]);
        }
        match self {
            Self::Fast => fast(&natural, out, stride),
            Self::Accurate => accurate(&natural, block, out, stride),
            Self::Half => half(&natural, block, out, stride),
            _ => quarter(&natural, out, stride),
        }
    }
}

/// The scale factors that the fast transform leaves to the multipliers: `round(2^14 s(r) s(c))` with `s(0) = 1` and
/// `s(k) = sqrt(2) cos(k pi / 16)`.
const SCALES: [i32; 64] = {
    // round(2^30 s(k)); the products are exact enough to round right.
    const S: [i128; 8] = [
        1_073_741_824,
        1_489_322_693,
        1_402_911_301,
        1_262_586_814,
        1_073_741_824,
        843_633_538,
        581_104_888,
        296_244_703,
    ];
    let mut scales = [0; 64];
    let mut i = 0;
    while i < 64 {
        scales[i] = ((S[i / 8] * S[i % 8] + (1 << 45)) >> 46) as i32;
        i += 1;
    }
    scales
};

fn high(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}

fn clamp8(value: i32) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}

fn saturate(value: i32) -> i16 {
    value.clamp(-32768, 32767) as i16
}

/// The eight-point butterfly of Arai, Agui and Nakajima in wrapping 16-bit arithmetic.
pub(crate) fn fast_pass(r: [i16; 8]) -> [i16; 8] {
    const C1_414: i16 = 362 << 6;
    const C1_847: i16 = 473 << 6;
    const C1_082: i16 = 277 << 6;
    const M1_613: i16 = -(413 << 6);
    let add = i16::wrapping_add;
    let sub = i16::wrapping_sub;
    let times = |x: i16, c: i16| high(x.wrapping_shl(2), c);
    let (t10, t11) = (add(r[0], r[4]), sub(r[0], r[4]));
    let t13 = add(r[2], r[6]);
    let t12 = sub(times(sub(r[2], r[6]), C1_414), t13);
    let (t0, t3) = (add(t10, t13), sub(t10, t13));
    let (t1, t2) = (add(t11, t12), sub(t11, t12));
    let (z13, z10) = (add(r[5], r[3]), sub(r[5], r[3]));
    let (z11, z12) = (add(r[1], r[7]), sub(r[1], r[7]));
    let t7 = add(z11, z13);
    let o11 = times(sub(z11, z13), C1_414);
    let z5 = high(add(z10.wrapping_shl(2), z12.wrapping_shl(2)), C1_847);
    let o12 = add(sub(times(z10, M1_613), z10), z5);
    let o10 = sub(times(z12, C1_082), z5);
    let t6 = sub(o12, t7);
    let t5 = sub(o11, t6);
    let t4 = add(o10, t5);
    [add(t0, t7), add(t1, t6), add(t2, t5), sub(t3, t4), add(t3, t4), sub(t2, t5), sub(t1, t6), sub(t0, t7)]
}

fn fast(input: &[i16; 64], out: &mut [u8], stride: usize) {
    let mut work = [0i16; 64];
    for c in 0..8 {
        let column = fast_pass(std::array::from_fn(|r| input[r * 8 + c]));
        for r in 0..8 {
            work[r * 8 + c] = column[r];
        }
    }
    for r in 0..8 {
        let row = fast_pass(std::array::from_fn(|c| work[r * 8 + c]));
        for c in 0..8 {
            out[r * stride + c] = clamp8(i32::from(row[c] >> 5));
        }
    }
}

/// `round(x 2^13)`.
mod fix {
    pub(super) const F0_211: i32 = 1730;
    pub(super) const F0_298: i32 = 2446;
    pub(super) const F0_390: i32 = 3196;
    pub(super) const F0_509: i32 = 4176;
    pub(super) const F0_541: i32 = 4433;
    pub(super) const F0_601: i32 = 4926;
    pub(super) const F0_720: i32 = 5906;
    pub(super) const F0_765: i32 = 6270;
    pub(super) const F0_850: i32 = 6967;
    pub(super) const F0_899: i32 = 7373;
    pub(super) const F1_061: i32 = 8697;
    pub(super) const F1_175: i32 = 9633;
    pub(super) const F1_272: i32 = 10426;
    pub(super) const F1_451: i32 = 11893;
    pub(super) const F1_501: i32 = 12299;
    pub(super) const F1_847: i32 = 15137;
    pub(super) const F1_961: i32 = 16069;
    pub(super) const F2_053: i32 = 16819;
    pub(super) const F2_172: i32 = 17799;
    pub(super) const F2_562: i32 = 20995;
    pub(super) const F3_072: i32 = 25172;
    pub(super) const F3_624: i32 = 29692;
}
use fix::*;

/// The eight-point transform of Loeffler, Ligtenberg and Moschytz.
fn accurate_pass(x: [i16; 8], shift: u32) -> [i32; 8] {
    let i = |k: usize| i32::from(x[k]);
    let sum = i32::from(x[0].wrapping_add(x[4])) << 13;
    let difference = i32::from(x[0].wrapping_sub(x[4])) << 13;
    let e3 = i(2) * (F0_541 + F0_765) + i(6) * F0_541;
    let e2 = i(2) * F0_541 + i(6) * (F0_541 - F1_847);
    let even = [sum + e3, difference + e2, difference - e2, sum - e3];
    let z3 = i32::from(x[7].wrapping_add(x[3]));
    let z4 = i32::from(x[5].wrapping_add(x[1]));
    let y3 = z3 * (F1_175 - F1_961) + z4 * F1_175;
    let y4 = z3 * F1_175 + z4 * (F1_175 - F0_390);
    let odd = [
        i(7) * -F0_899 + i(1) * (F1_501 - F0_899) + y4,
        i(5) * -F2_562 + i(3) * (F3_072 - F2_562) + y3,
        i(5) * (F2_053 - F2_562) + i(3) * -F2_562 + y4,
        i(7) * (F0_298 - F0_899) + i(1) * -F0_899 + y3,
    ];
    let round = |v: i32| v.wrapping_add(1 << (shift - 1)) >> shift;
    std::array::from_fn(|k| match k {
        0..4 => round(even[k].wrapping_add(odd[k])),
        _ => round(even[7 - k].wrapping_sub(odd[7 - k])),
    })
}

/// Whether all coefficients in the natural rows that `rows` has a bit of are zero.
fn rows_are_zero(block: &Block, rows: u32) -> bool {
    (0..64).all(|i| block.0[i] == 0 || rows >> (ZIGZAG[i] / 8) & 1 == 0)
}

fn accurate(input: &[i16; 64], block: &Block, out: &mut [u8], stride: usize) {
    let mut work = [0i16; 64];
    let flat = rows_are_zero(block, 0b1111_1110);
    for c in 0..8 {
        if flat {
            // Wraps where the full transform would saturate.
            (0..8).for_each(|r| work[r * 8 + c] = input[c].wrapping_shl(2));
            continue;
        }
        let column = accurate_pass(std::array::from_fn(|r| input[r * 8 + c]), 11);
        (0..8).for_each(|r| work[r * 8 + c] = saturate(column[r]));
    }
    for r in 0..8 {
        let row = accurate_pass(std::array::from_fn(|c| work[r * 8 + c]), 18);
        for c in 0..8 {
            out[r * stride + c] = clamp8(i32::from(saturate(row[c])));
        }
    }
}

/// Eight values in, four out; the value in the middle is not used.
fn half_pass(x: [i16; 8], shift: u32) -> [i32; 4] {
    let i = |k: usize| i32::from(x[k]);
    let start = i(0) << 14;
    let e2 = i(2) * F1_847 - i(6) * F0_765;
    let o2 = i(1) * F2_562 + i(3) * F0_899 - i(5) * F0_601 - i(7) * F0_509;
    let o0 = i(1) * F1_061 - i(3) * F2_172 + i(5) * F1_451 - i(7) * F0_211;
    let (a, b) = (start.wrapping_add(e2), start.wrapping_sub(e2));
    let round = |v: i32| v.wrapping_add(1 << (shift - 1)) >> shift;
    [
        round(a.wrapping_add(o2)),
        round(b.wrapping_add(o0)),
        round(b.wrapping_sub(o0)),
        round(a.wrapping_sub(o2)),
    ]
}

fn half(input: &[i16; 64], block: &Block, out: &mut [u8], stride: usize) {
    let mut work = [[0i16; 8]; 4];
    let flat = rows_are_zero(block, 0b1110_1110);
    for c in 0..8 {
        if flat {
            (0..4).for_each(|r| work[r][c] = input[c].wrapping_shl(2));
            continue;
        }
        let column = half_pass(std::array::from_fn(|r| input[r * 8 + c]), 12);
        (0..4).for_each(|r| work[r][c] = saturate(column[r]));
    }
    for r in 0..4 {
        let row = half_pass(work[r], 19);
        for c in 0..4 {
            out[r * stride + c] = clamp8(i32::from(saturate(row[c])));
        }
    }
}

fn quarter(input: &[i16; 64], out: &mut [u8], stride: usize) {
    let odd = |x: [i16; 4]| {
        let i = |k: usize| i32::from(x[k]);
        (i(0) * F3_624 - i(1) * F1_272).wrapping_add(i(2) * F0_850 - i(3) * F0_720)
    };
    let round = |v: i32, shift: u32| v.wrapping_add(1 << (shift - 1)) >> shift;
    let column = |c: usize| {
        let start = i32::from(input[c]) << 15;
        let o = odd([input[8 + c], input[24 + c], input[40 + c], input[56 + c]]);
        [round(start.wrapping_add(o), 13), round(start.wrapping_sub(o), 13)]
    };
    let columns = [column(0), column(1), column(3), column(5), column(7)];
    for r in 0..2 {
        let start = columns[0][r].wrapping_shl(15);
        let o = odd(std::array::from_fn(|k| saturate(columns[k + 1][r])));
        let pair = [start.wrapping_add(o), start.wrapping_sub(o)];
        for c in 0..2 {
            out[r * stride + c] = clamp8(i32::from(saturate(round(pair[c], 20))));
        }
    }
}

/// The DC coefficient alone. Libjpeg looks the sample up in a table of 1024 entries, which makes large values wrap.
fn eighth(dc: i16, multiplier: i16) -> u8 {
    let value = ((i32::from(dc) * i32::from(multiplier) + 4) >> 3) & 1023;
    match value {
        0..128 => (value + 128) as u8,
        128..512 => 255,
        512..896 => 0,
        _ => (value - 896) as u8,
    }
}

#[cfg(test)]
mod tests;
