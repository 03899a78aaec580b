//! Numbers from the words of a Philox stream, as TensorFlow's distributions make them.

use crate::math::num::{Num, narrow};
use gristmill_types::rng::{Philox, uniform_f32, uniform_f64};
use gristmill_types::{DType, Error, Result};
use half::{bf16, f16};
use std::f64::consts::PI;

/// A float type that can be drawn.
pub(super) trait Drawn: Num {
    /// In `[0, 1)`.
    fn uniform(p: &mut Philox) -> Self;
    /// Two of the standard normal distribution.
    fn normals(p: &mut Philox) -> [Self; 2];
}

/// TensorFlow keeps the logarithm finite with this bound.
const LEAST: f64 = 1.0e-7;

fn normals_f32(p: &mut Philox) -> [f32; 2] {
    let u = uniform_f32(p.next_u32()).max(LEAST as f32);
    let angle = (2.0 * PI * f64::from(uniform_f32(p.next_u32()))) as f32;
    let radius = (-2.0 * u.ln()).sqrt();
    [angle.sin() * radius, angle.cos() * radius]
}

fn pair_f64(p: &mut Philox) -> f64 {
    let first = p.next_u32();
    uniform_f64(first, p.next_u32())
}

impl Drawn for f32 {
    fn uniform(p: &mut Philox) -> Self {
        uniform_f32(p.next_u32())
    }
    fn normals(p: &mut Philox) -> [Self; 2] {
        normals_f32(p)
    }
}

impl Drawn for f64 {
    fn uniform(p: &mut Philox) -> Self {
        pair_f64(p)
    }
    fn normals(p: &mut Philox) -> [Self; 2] {
        let u = pair_f64(p).max(LEAST);
        let angle = 2.0 * PI * pair_f64(p);
        let radius = (-2.0 * u.ln()).sqrt();
        [angle.sin() * radius, angle.cos() * radius]
    }
}

impl Drawn for f16 {
    fn uniform(p: &mut Philox) -> Self {
        // Ten mantissa bits under the exponent of 1, less 1.
        f16::from_f32(f16::from_bits(0x3C00 | (p.next_u32() & 0x3FF) as u16).to_f32() - 1.0)
    }
    fn normals(p: &mut Philox) -> [Self; 2] {
        normals_f32(p).map(f16::from_f32)
    }
}

impl Drawn for bf16 {
    fn uniform(p: &mut Philox) -> Self {
        narrow(bf16::from_bits(0x3F80 | (p.next_u32() & 0x7F) as u16).to_f32() - 1.0)
    }
    fn normals(p: &mut Philox) -> [Self; 2] {
        normals_f32(p).map(narrow)
    }
}

/// Fills with uniform floats in `[low, high)`.
pub(super) fn fill_uniform<T: Drawn>(p: &mut Philox, to: &mut [T], low: T, high: T) {
    let width = high.sub(low);
    for v in to {
        *v = T::uniform(p).mul(width).add(low);
    }
}

/// Fills with normal floats.
pub(super) fn fill_normal<T: Drawn>(p: &mut Philox, to: &mut [T], mean: T, deviation: T) {
    for v in to.chunks_mut(2) {
        for (v, n) in v.iter_mut().zip(T::normals(p)) {
            *v = n.mul(deviation).add(mean);
        }
    }
}

/// Fills with integers in `[low, high)`, or over the whole range where no bounds are given.
pub(super) fn fill_integers<T: Num>(p: &mut Philox, to: &mut [T], bounds: Option<(T, T)>) -> Result<()> {
    let wide = size_of::<T>() == 8;
    let mut word = || {
        let first = u64::from(p.next_u32());
        if wide { first | u64::from(p.next_u32()) << 32 } else { first }
    };
    let Some((low, high)) = bounds else {
        to.iter_mut().for_each(|v| *v = T::from_i128(i128::from(word())));
        return Ok(());
    };
    let (a, b) = (low.to_i128().unwrap_or(0), high.to_i128().unwrap_or(0));
    if a >= b {
        return Err(Error::invalid(format!("need minval < maxval, got {a} >= {b}")));
    }
    let range = (b - a) as u64;
    to.iter_mut().for_each(|v| *v = T::from_i128(a + i128::from(word() % range)));
    Ok(())
}

/// Refuses dtypes that cannot be drawn; integers only where `integers`.
pub(super) fn check_dtype(dtype: DType, integers: bool) -> Result<()> {
    let int = matches!(dtype, DType::I32 | DType::I64 | DType::U32 | DType::U64);
    if dtype.is_float() || (int && integers) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "dtype must be a float{}, found {dtype}",
        if integers { " or an integer of 32 or 64 bits" } else { "" }
    )))
}
