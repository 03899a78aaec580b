//! The inner loops, compiled once for the baseline and once for AVX2 (without FMA: a contracted multiplication and
//! addition would change the last bit). Both give the same bits.
#![allow(unsafe_code)]

use super::{Sample, Spans, Tap};
use half::bf16;

/// Declares `$name` as the one of two compilations of `$body` that this machine can run.
macro_rules! dispatched {
    ($(#[$doc:meta])* $vis:vis fn $name:ident $(<$t:ident>)? ($($arg:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        #[inline]
        $vis fn $name $(<$t: Sample>)? ($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2 $(<$t: Sample>)? ($($arg: $ty),*) {
                    $body($($arg),*);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the one requirement of `avx2` is the feature that was just detected.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $body($($arg),*);
        }
    };
}

dispatched! {
    /// Samples to `f32`.
    pub(crate) fn to_f32<T>(src: &[T], dst: &mut [f32]) = to_f32_body
}

#[inline(always)]
fn to_f32_body<T: Sample>(src: &[T], dst: &mut [f32]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d = s.to_f32();
    }
}

dispatched! {
    /// `dst = a + (b - a) * fraction`, sample by sample.
    pub(crate) fn lerp_rows(a: &[f32], b: &[f32], fraction: f32, dst: &mut [f32]) = lerp_rows_body
}

#[inline(always)]
fn lerp_rows_body(a: &[f32], b: &[f32], fraction: f32, dst: &mut [f32]) {
    for ((d, &a), &b) in dst.iter_mut().zip(a).zip(b) {
        *d = a + (b - a) * fraction;
    }
}

dispatched! {
    /// One row of pixels of up to four channels interpolated between columns. `row` is the source row and `dst` the
    /// result, each followed by at least four samples that may be read (or written) but do not count.
    pub(crate) fn lerp_columns_padded(row: &[f32], taps: &[Tap], channels: usize, dst: &mut [f32]) = lerp_columns_padded_body
}

#[inline(always)]
fn lerp_columns_padded_body(row: &[f32], taps: &[Tap], channels: usize, dst: &mut [f32]) {
    let last = taps.len() * channels;
    let highest = taps.iter().fold(0, |m, t| m.max(t.low).max(t.high)) as usize;
    assert!(row.len() >= highest + 4 && dst.len() >= last + 4, "both rows are padded by four samples");
    let (row, out) = (row.as_ptr(), dst.as_mut_ptr());
    for (i, tap) in taps.iter().enumerate() {
        // SAFETY: four samples after `low`, `high` and `i * channels` lie inside the slices, as just asserted.
        unsafe {
            let a = row.add(tap.low as usize).cast::<[f32; 4]>().read_unaligned();
            let b = row.add(tap.high as usize).cast::<[f32; 4]>().read_unaligned();
            // Written out: a closure would not be compiled for the wider instructions.
            let f = tap.fraction;
            let mixed = [
                a[0] + (b[0] - a[0]) * f,
                a[1] + (b[1] - a[1]) * f,
                a[2] + (b[2] - a[2]) * f,
                a[3] + (b[3] - a[3]) * f,
            ];
            out.add(i * channels).cast::<[f32; 4]>().write_unaligned(mixed);
        }
    }
}

dispatched! {
    /// One row interpolated between columns straight from the samples: for many channels, and where only few of the
    /// columns are needed.
    pub(crate) fn lerp_columns<T>(row: &[T], taps: &[Tap], channels: usize, dst: &mut [f32]) = lerp_columns_body
}

#[inline(always)]
fn lerp_columns_body<T: Sample>(row: &[T], taps: &[Tap], channels: usize, dst: &mut [f32]) {
    match channels {
        1 => columns_of::<T, 1>(row, taps, dst),
        3 => columns_of::<T, 3>(row, taps, dst),
        4 => columns_of::<T, 4>(row, taps, dst),
        _ => {
            for (tap, out) in taps.iter().zip(dst.chunks_exact_mut(channels)) {
                let (low, high) = (tap.low as usize, tap.high as usize);
                let pairs = row[low..low + channels].iter().zip(&row[high..high + channels]);
                for (o, (a, b)) in out.iter_mut().zip(pairs) {
                    let (a, b) = (a.to_f32(), b.to_f32());
                    *o = a + (b - a) * tap.fraction;
                }
            }
        }
    }
}

#[inline(always)]
fn columns_of<T: Sample, const C: usize>(row: &[T], taps: &[Tap], dst: &mut [f32]) {
    for (tap, out) in taps.iter().zip(dst.chunks_exact_mut(C)) {
        let low = &row[tap.low as usize..][..C];
        let high = &row[tap.high as usize..][..C];
        for k in 0..C {
            let (a, b) = (low[k].to_f32(), high[k].to_f32());
            out[k] = a + (b - a) * tap.fraction;
        }
    }
}

dispatched! {
    /// `dst += src * weight`, sample by sample.
    pub(crate) fn add_scaled<T>(src: &[T], weight: f32, dst: &mut [f32]) = add_scaled_body
}

#[inline(always)]
fn add_scaled_body<T: Sample>(src: &[T], weight: f32, dst: &mut [f32]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d += s.to_f32() * weight;
    }
}

dispatched! {
    /// One row of pixels of 1 or 3 channels weighed between columns: pixel `i` of the result from the pixels of span
    /// `from + i`. `row` is the source row and `dst` the result, each followed by [`PADDING`](super::PADDING) samples
    /// that do not count.
    pub(crate) fn weigh_columns(row: &[f32], spans: &Spans, from: usize, channels: usize, dst: &mut [f32]) = weigh_columns_body
}

#[inline(always)]
fn weigh_columns_body(row: &[f32], spans: &Spans, from: usize, channels: usize, dst: &mut [f32]) {
    let count = (dst.len() - super::PADDING) / channels;
    for i in 0..count {
        let (first, weights) = spans.get(from + i);
        if channels == 1 {
            let pixels = &row[first..first + weights.len()];
            dst[i] = pixels.iter().zip(weights).fold(0.0, |sum, (p, w)| sum + p * w);
            continue;
        }
        // Of four samples the last is the next pixel's, whose own result takes its place.
        let pixels = &row[first * channels..(first + weights.len()) * channels + 1];
        let mut sum = [0.0f32; 4];
        for (k, &weight) in weights.iter().enumerate() {
            let pixel = &pixels[k * channels..k * channels + 4];
            for (s, p) in sum.iter_mut().zip(pixel) {
                *s += p * weight;
            }
        }
        dst[i * channels..i * channels + 4].copy_from_slice(&sum);
    }
}

dispatched! {
    /// `dst = a * w[0] + b * w[1] + c * w[2] + d * w[3]`, sample by sample and in this order.
    pub(crate) fn weigh_rows<T>(rows: [&[T]; 4], weights: [f32; 4], dst: &mut [f32]) = weigh_rows_body
}

#[inline(always)]
fn weigh_rows_body<T: Sample>(rows: [&[T]; 4], weights: [f32; 4], dst: &mut [f32]) {
    let [a, b, c, d] = rows;
    let samples = a.iter().zip(b).zip(c).zip(d);
    for (out, (((a, b), c), d)) in dst.iter_mut().zip(samples) {
        *out = a.to_f32() * weights[0]
            + b.to_f32() * weights[1]
            + c.to_f32() * weights[2]
            + d.to_f32() * weights[3];
    }
}

/// An operator of a sample `x` and a number `c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `x + c`
    Add,
    /// `x - c`
    Subtract,
    /// `c - x`
    SubtractFrom,
    /// `x * c`
    Multiply,
    /// `x / c`
    Divide,
    /// `c / x`
    DivideInto,
}

macro_rules! operate {
    ($operator:expr, $row:expr, $others:expr) => {
        match $operator {
            Operator::Add => $row.iter_mut().zip($others).for_each(|(x, c)| *x += c),
            Operator::Subtract => $row.iter_mut().zip($others).for_each(|(x, c)| *x -= c),
            Operator::SubtractFrom => $row.iter_mut().zip($others).for_each(|(x, c)| *x = c - *x),
            Operator::Multiply => $row.iter_mut().zip($others).for_each(|(x, c)| *x *= c),
            Operator::Divide => $row.iter_mut().zip($others).for_each(|(x, c)| *x /= c),
            Operator::DivideInto => $row.iter_mut().zip($others).for_each(|(x, c)| *x = c / *x),
        }
    };
}

dispatched! {
    /// The operator with one number for all samples.
    pub(crate) fn with_one(operator: Operator, other: f32, row: &mut [f32]) = with_one_body
}

#[inline(always)]
fn with_one_body(operator: Operator, other: f32, row: &mut [f32]) {
    operate!(operator, row, std::iter::repeat(other));
}

dispatched! {
    /// The operator sample by sample.
    pub(crate) fn with_many(operator: Operator, others: &[f32], row: &mut [f32]) = with_many_body
}

#[inline(always)]
fn with_many_body(operator: Operator, others: &[f32], row: &mut [f32]) {
    operate!(operator, row, others);
}

/// The bits of the nearest bfloat16, ties to even; NaN stays NaN.
#[inline(always)]
fn bf16_bits(v: f32) -> u32 {
    let bits = v.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    if bits & 0x7FFF_FFFF > 0x7F80_0000 { bits >> 16 | 0x40 } else { rounded }
}

dispatched! {
    /// Samples to the nearest bfloat16.
    pub(crate) fn to_bf16(src: &[f32], dst: &mut [bf16]) = to_bf16_body
}

#[inline(always)]
fn to_bf16_body(src: &[f32], dst: &mut [bf16]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d = bf16::from_bits(bf16_bits(*s) as u16);
    }
}

dispatched! {
    /// Samples to the nearest value that a bfloat16 has.
    pub(crate) fn round_bf16(row: &mut [f32]) = round_bf16_body
}

#[inline(always)]
fn round_bf16_body(row: &mut [f32]) {
    for v in row {
        *v = f32::from_bits(bf16_bits(*v) << 16);
    }
}

dispatched! {
    /// Samples cut towards zero to 8 bits, with the limits for what lies outside.
    pub(crate) fn to_u8(src: &[f32], dst: &mut [u8]) = to_u8_body
}

#[inline(always)]
fn to_u8_body(src: &[f32], dst: &mut [u8]) {
    for (d, s) in dst.iter_mut().zip(src) {
        *d = *s as u8;
    }
}
