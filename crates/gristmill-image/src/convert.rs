//! `tf.image.convert_image_dtype`: between the ranges of two sample types, in TensorFlow's order of operations
//! (`tensorflow/python/ops/image_ops_impl.py`).

use half::{bf16, f16};

use crate::{Error, Result};

mod sealed {
    pub trait Sealed {}
}

/// A sample type that images can be converted from and to.
///
/// The range of an integer type is 0 to its largest value, that of a real type 0 to 1. The methods are this module's
/// own affair.
pub trait Pixel: sealed::Sealed + Copy + 'static {
    /// Whether this is an integer type.
    const INTEGER: bool;
    /// Smallest and largest value of an integer type.
    #[doc(hidden)]
    const RANGE: (i128, i128);
    #[doc(hidden)]
    fn int(self) -> i128;
    /// Keeps the low bits.
    #[doc(hidden)]
    fn wrap(value: i128) -> Self;
    #[doc(hidden)]
    fn wrap_64(value: i64) -> Self;
    #[doc(hidden)]
    fn f32(self) -> f32;
    #[doc(hidden)]
    fn f64(self) -> f64;
    /// To a real type: half precision goes through `f32`, as in TensorFlow.
    #[doc(hidden)]
    fn real<S: Pixel>(from: S) -> Self;
    /// A constant in this real type.
    #[doc(hidden)]
    fn constant(value: f64) -> Self;
    #[doc(hidden)]
    fn times(self, other: Self) -> Self;
    /// Between two limits, in this type's precision.
    #[doc(hidden)]
    fn clip(self, low: Self, high: Self) -> Self;
    /// The limit `bound` of an integer type in this real type: not beyond it, and finite.
    #[doc(hidden)]
    fn limit(bound: i128) -> Self;
}

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl Pixel for $t {
            const INTEGER: bool = true;
            const RANGE: (i128, i128) = (<$t>::MIN as i128, <$t>::MAX as i128);
            #[inline(always)]
            fn int(self) -> i128 {
                self as i128
            }
            #[inline(always)]
            fn wrap(value: i128) -> Self {
                value as $t
            }
            #[inline(always)]
            fn wrap_64(value: i64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                self as f64
            }
            fn real<S: Pixel>(from: S) -> Self {
                Self::wrap_64(from.f64() as i64)
            }
            fn constant(value: f64) -> Self {
                value as $t
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn clip(self, low: Self, high: Self) -> Self {
                self.max(low).min(high)
            }
            fn limit(bound: i128) -> Self {
                Self::wrap(bound)
            }
        }
    )*};
}

integer!(u8, i8, u16, i16, u32, i32, u64, i64);

macro_rules! real {
    ($t:ty, $from:ident, $to_f32:expr, $to_f64:expr, $from_f32:expr, $from_f64:expr, $max:expr) => {
        impl sealed::Sealed for $t {}
        impl Pixel for $t {
            const INTEGER: bool = false;
            const RANGE: (i128, i128) = (0, 0);
            fn int(self) -> i128 {
                self.f64() as i128
            }
            fn wrap(value: i128) -> Self {
                Self::constant(value as f64)
            }
            fn wrap_64(value: i64) -> Self {
                Self::constant(value as f64)
            }
            #[inline(always)]
            fn f32(self) -> f32 {
                $to_f32(self)
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                $to_f64(self)
            }
            #[inline(always)]
            fn real<S: Pixel>(from: S) -> Self {
                $from_f32(from.$from())
            }
            #[inline(always)]
            fn constant(value: f64) -> Self {
                $from_f64(value)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn clip(self, low: Self, high: Self) -> Self {
                if self < low {
                    low
                } else if self > high {
                    high
                } else {
                    self
                }
            }
            fn limit(bound: i128) -> Self {
                let sign = bound.signum() as f64;
                let largest: $t = $max;
                let value = Self::constant(bound.unsigned_abs() as f64);
                let value = if value > largest {
                    largest
                } else if value.int() as u128 > bound.unsigned_abs() {
                    <$t>::from_bits(value.to_bits() - 1)
                } else {
                    value
                };
                Self::constant(value.f64() * sign)
            }
        }
    };
}

real!(f32, f32, |v: f32| v, f64::from, |v: f32| v, |v: f64| v as f32, f32::MAX);
real!(f64, f64, |v: f64| v as f32, |v: f64| v, |v: f64| v, |v: f64| v, f64::MAX);
real!(f16, f32, f16::to_f32, f16::to_f64, f16::from_f32, f16::from_f64, f16::MAX);
real!(bf16, f32, bf16::to_f32, bf16::to_f64, bf16::from_f32, bf16::from_f64, bf16::MAX);

fn each<S: Pixel, D>(src: &[S], dst: &mut [D], convert: impl Fn(S) -> D) {
    for (d, &s) in dst.iter_mut().zip(src) {
        *d = convert(s);
    }
}

fn integer_to_integer<S: Pixel, D: Pixel>(src: &[S], dst: &mut [D], saturate: bool) {
    let fit = |v: i128| D::wrap(if saturate { v.clamp(D::RANGE.0, D::RANGE.1) } else { v });
    let (from, to) = (S::RANGE.1, D::RANGE.1);
    if from > to {
        let scale = (from + 1) / (to + 1);
        each(src, dst, |s| fit(s.int().div_euclid(scale)));
    } else {
        let scale = (to + 1) / (from + 1);
        each(src, dst, |s| D::wrap(fit(s.int()).int() * scale));
    }
}

fn real_to_integer<S: Pixel, D: Pixel>(src: &[S], dst: &mut [D], saturate: bool) {
    let scale = S::constant(D::RANGE.1 as f64 + 0.5);
    let (low, high) = (S::limit(D::RANGE.0), S::limit(D::RANGE.1));
    let wide = D::RANGE.1 > i128::from(i64::MAX);
    let cast = |v: S| {
        if wide { D::wrap(v.f64() as i128) } else { D::wrap_64(v.f64() as i64) }
    };
    // TensorFlow leaves open what a value outside the range becomes; its x86 build saturates 32-bit and wider
    // floats, and so do we, so that images that were scaled twice come out alike.
    if saturate || size_of::<S>() >= 4 {
        each(src, dst, |s| cast(s.times(scale).clip(low, high)));
    } else {
        each(src, dst, |s| cast(s.times(scale)));
    }
}

/// Converts samples to another type and its range.
///
/// Integer to real: multiplied by the rounded `1 / max` (not divided by `max`) in the target type. Real to integer:
/// multiplied by `max + 0.5` in the source type and truncated, so 1 leaves the range where `max + 0.5` is not
/// representable (`bfloat16` to `uint8`); with `saturate` it is clipped. Integer to integer: divided by or multiplied
/// with the ratio of the ranges. Real to real: cast. Out of range and without `saturate`, integers and 16-bit floats keep
/// their low bits.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the slices differ in length.
pub fn convert_image<S: Pixel, D: Pixel>(src: &[S], dst: &mut [D], saturate: bool) -> Result<()> {
    if src.len() != dst.len() {
        return Err(Error::invalid(format!(
            "the output has room for {} samples, but the image has {}",
            dst.len(),
            src.len()
        )));
    }
    match (S::INTEGER, D::INTEGER) {
        (true, true) => integer_to_integer(src, dst, saturate),
        (true, false) => {
            let scale = D::constant(1.0 / S::RANGE.1 as f64);
            each(src, dst, |s| D::real(s).times(scale));
        }
        (false, true) => real_to_integer(src, dst, saturate),
        (false, false) => each(src, dst, D::real),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted<S: Pixel, D: Pixel + Default>(src: &[S], saturate: bool) -> Vec<D> {
        let mut dst = vec![D::default(); src.len()];
        convert_image(src, &mut dst, saturate).unwrap();
        dst
    }

    #[test]
    fn integers() {
        assert_eq!(converted::<u8, u16>(&[0, 1, 255], false), [0, 256, 65280]);
        assert_eq!(converted::<u16, u8>(&[0, 255, 256, 65535], false), [0, 0, 1, 255]);
        assert_eq!(converted::<u8, i8>(&[0, 1, 2, 255], false), [0, 0, 1, 127]);
        assert_eq!(converted::<i8, u8>(&[-1, 0, 1, 127], true), [0, 0, 2, 254]);
        assert_eq!(converted::<u8, i32>(&[1], false), [1 << 23]);
        assert_eq!(converted::<i32, u8>(&[-1, i32::MAX], false), [255, 255]);
        assert_eq!(converted::<u8, u8>(&[7], false), [7]);
    }

    #[test]
    fn to_real() {
        let third = converted::<u8, f32>(&[0, 3, 255], false);
        assert_eq!(third, [0.0, 3.0 * (1.0f32 / 255.0), 255.0 * (1.0f32 / 255.0)]);
        assert_eq!(converted::<u16, f64>(&[65535], false), [65535.0 * (1.0 / 65535.0)]);
        let coarse = converted::<u8, bf16>(&[200], false);
        assert_eq!(coarse, [bf16::from_f32(200.0) * bf16::from_f64(1.0 / 255.0)]);
    }

    #[test]
    fn to_integer() {
        assert_eq!(converted::<f32, u8>(&[0.0, 0.5, 1.0], false), [0, 127, 255]);
        assert_eq!(converted::<f32, u8>(&[-0.5, 1.5, f32::INFINITY], true), [0, 255, 255]);
        assert_eq!(converted::<f32, u8>(&[-0.5, 1.5, 255.0], false), [0, 255, 255]);
        assert_eq!(converted::<f32, i32>(&[2.0, -2.0], true), [2_147_483_520, i32::MIN]);
        assert_eq!(converted::<bf16, u8>(&[bf16::ONE], true), [255]);
        assert_eq!(converted::<bf16, u16>(&[bf16::ONE], true), [65280]);
        assert_eq!(converted::<f16, u16>(&[f16::ONE], true), [65504]);
        assert_eq!(converted::<f64, u64>(&[1.0], true), [18_446_744_073_709_549_568]);
        assert!(convert_image::<u8, u8>(&[1], &mut [], false).is_err());
    }
}
