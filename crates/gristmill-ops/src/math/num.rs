//! The arithmetic of each dtype as TensorFlow does it: integers wrap, the 16-bit floats compute in
//! float32 and round after every step.

use gristmill_types::Element;
use half::{bf16, f16};

/// A dtype with arithmetic: every plain one but bool.
pub(crate) trait Num: Element + PartialOrd {
    /// Whether the type is an integer.
    const INT: bool;
    /// Binary digits of a float's mantissa; 0 for integers.
    const DIGITS: i32;
    /// Smallest finite value, for integers and floats alike.
    const LOWEST: Self;
    /// Largest finite value.
    const HIGHEST: Self;

    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// Real division of floats; integers truncate, and division by 0 gives 0.
    fn div(self, o: Self) -> Self;
    /// Rounded down; integer division by 0 gives 0.
    fn floor_div(self, o: Self) -> Self;
    /// The remainder with the sign of the divisor; of integer division by 0 it is 0.
    fn floor_mod(self, o: Self) -> Self;
    /// Integers: exponents below 0 count as 0.
    fn power(self, o: Self) -> Self;
    fn negate(self) -> Self;
    fn magnitude(self) -> Self;
    /// -1, 0 or 1; NaN stays.
    fn signum_or_zero(self) -> Self;
    /// Half to even; integers stay.
    fn round_even(self) -> Self;
    fn to_f64(self) -> f64;
    fn from_f64(v: f64) -> Self;
    /// The value of an integer; `None` for floats.
    fn to_i128(self) -> Option<i128>;
    /// Integers wrap.
    fn from_i128(v: i128) -> Self;

    fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// The larger; NaN if one is.
    #[inline(always)]
    fn larger(self, o: Self) -> Self {
        let not_number = self.partial_cmp(&self).is_none();
        if self > o || not_number { self } else { o }
    }

    /// The smaller; NaN if one is.
    #[inline(always)]
    fn smaller(self, o: Self) -> Self {
        let not_number = self.partial_cmp(&self).is_none();
        if self < o || not_number { self } else { o }
    }
}

macro_rules! ints {
    ($($t:ty),*) => { $(
        #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
        impl Num for $t {
            const INT: bool = true;
            const DIGITS: i32 = 0;
            const LOWEST: Self = <$t>::MIN;
            const HIGHEST: Self = <$t>::MAX;
            #[inline(always)]
            fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)]
            fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)]
            fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)]
            fn div(self, o: Self) -> Self { if o == 0 { 0 } else { self.wrapping_div(o) } }
            #[inline(always)]
            fn floor_div(self, o: Self) -> Self {
                if o == 0 {
                    return 0;
                }
                let q = self.wrapping_div(o);
                if self.wrapping_rem(o) != 0 && (self < 0) != (o < 0) { q.wrapping_sub(1) } else { q }
            }
            #[inline(always)]
            fn floor_mod(self, o: Self) -> Self {
                if o == 0 {
                    return 0;
                }
                let r = self.wrapping_rem(o);
                if r != 0 && (r < 0) != (o < 0) { r.wrapping_add(o) } else { r }
            }
            fn power(self, o: Self) -> Self {
                let (mut base, mut out, mut left) = (self, 1 as $t, if o < 0 { 0 } else { o });
                while left > 0 {
                    if left & 1 == 1 {
                        out = out.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                out
            }
            #[inline(always)]
            fn negate(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn magnitude(self) -> Self { if self < 0 { self.wrapping_neg() } else { self } }
            #[inline(always)]
            fn signum_or_zero(self) -> Self { if self < 0 { (0 as $t).wrapping_sub(1) } else { (self > 0) as $t } }
            #[inline(always)]
            fn round_even(self) -> Self { self }
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { v as $t }
            #[inline(always)]
            fn to_i128(self) -> Option<i128> { Some(self as i128) }
            #[inline(always)]
            fn from_i128(v: i128) -> Self { v as $t }
        }
    )* };
}
ints!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! floats {
    ($($t:ty: $w:ty, $to:expr, $from:expr, $lowest:expr, $highest:expr;)*) => { $(
        impl Num for $t {
            const INT: bool = false;
            const DIGITS: i32 = <$t>::MANTISSA_DIGITS as i32;
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
            #[inline(always)]
            fn add(self, o: Self) -> Self { $from($to(self) + $to(o)) }
            #[inline(always)]
            fn sub(self, o: Self) -> Self { $from($to(self) - $to(o)) }
            #[inline(always)]
            fn mul(self, o: Self) -> Self { $from($to(self) * $to(o)) }
            #[inline(always)]
            fn div(self, o: Self) -> Self { $from($to(self) / $to(o)) }
            #[inline(always)]
            fn floor_div(self, o: Self) -> Self { $from($to($from($to(self) / $to(o))).floor()) }
            #[inline(always)]
            fn floor_mod(self, o: Self) -> Self {
                let (y, r) = ($to(o), $to(self) % $to(o));
                $from(if r != 0.0 && (y < 0.0) != (r < 0.0) { r + y } else { r })
            }
            #[inline(always)]
            fn power(self, o: Self) -> Self { $from($to(self).powf($to(o))) }
            #[inline(always)]
            fn negate(self) -> Self { $from(-$to(self)) }
            #[inline(always)]
            fn magnitude(self) -> Self { $from($to(self).abs()) }
            #[inline(always)]
            fn signum_or_zero(self) -> Self {
                let x: $w = $to(self);
                if x > 0.0 { $from(1.0) } else if x < 0.0 { $from(-1.0) } else { self }
            }
            #[inline(always)]
            fn round_even(self) -> Self { $from($to(self).round_ties_even()) }
            #[inline(always)]
            fn to_f64(self) -> f64 { $to(self) as f64 }
            #[inline(always)]
            fn from_f64(v: f64) -> Self { $from(v as $w) }
            fn to_i128(self) -> Option<i128> { None }
            fn from_i128(v: i128) -> Self { $from(v as $w) }
        }
    )* };
}
floats! {
    f32: f32, std::convert::identity::<f32>, std::convert::identity::<f32>, f32::MIN, f32::MAX;
    f64: f64, std::convert::identity::<f64>, std::convert::identity::<f64>, f64::MIN, f64::MAX;
    f16: f32, f16::to_f32, f16::from_f32, f16::MIN, f16::MAX;
    bf16: f32, bf16::to_f32, narrow, bf16::MIN, bf16::MAX;
}

/// float32 to bfloat16, to nearest even, without a branch.
#[inline(always)]
pub(crate) fn narrow(v: f32) -> bf16 {
    let bits = v.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x40;
    bf16::from_bits(if bits & 0x7FFF_FFFF > 0x7F80_0000 { nan } else { rounded } as u16)
}

/// Runs `$body` with `$t` standing for the element type of a numeric dtype; `$other` for bool and
/// strings, with the dtype under the name `$d`.
macro_rules! with_num {
    ($dtype:expr, $t:ident => $body:expr, $d:pat => $other:expr) => {
        match $dtype {
            dtype @ (gristmill_types::DType::Bool | gristmill_types::DType::String) => {
                let $d = dtype;
                $other
            }
            dtype => gristmill_types::with_element!(dtype, $t => $body, _ => unreachable!("strings were matched before")),
        }
    };
}
pub(crate) use with_num;

/// As [`with_num`] for floats; integers go to `$other` too.
macro_rules! with_float {
    ($dtype:expr, $t:ident => $body:expr, $d:ident => $other:expr) => {
        match $dtype {
            gristmill_types::DType::F16 => {
                type $t = half::f16;
                $body
            }
            gristmill_types::DType::BF16 => {
                type $t = half::bf16;
                $body
            }
            gristmill_types::DType::F32 => {
                type $t = f32;
                $body
            }
            gristmill_types::DType::F64 => {
                type $t = f64;
                $body
            }
            $d => $other,
        }
    };
}
pub(crate) use with_float;

/// As [`with_num`] for integers.
macro_rules! with_int {
    ($dtype:expr, $t:ident => $body:expr, $d:ident => $other:expr) => {
        match $dtype {
            gristmill_types::DType::U8 => {
                type $t = u8;
                $body
            }
            gristmill_types::DType::U16 => {
                type $t = u16;
                $body
            }
            gristmill_types::DType::U32 => {
                type $t = u32;
                $body
            }
            gristmill_types::DType::U64 => {
                type $t = u64;
                $body
            }
            gristmill_types::DType::I8 => {
                type $t = i8;
                $body
            }
            gristmill_types::DType::I16 => {
                type $t = i16;
                $body
            }
            gristmill_types::DType::I32 => {
                type $t = i32;
                $body
            }
            gristmill_types::DType::I64 => {
                type $t = i64;
                $body
            }
            $d => $other,
        }
    };
}
pub(crate) use with_int;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_semantics() {
        for (x, y) in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (i32::MIN, -1)] {
            let (q, r) = (x.floor_div(y), x.floor_mod(y));
            assert_eq!(q.wrapping_mul(y).wrapping_add(r), x, "{x} {y}");
            assert!(r == 0 || (r < 0) == (y < 0));
        }
        assert_eq!((-7.5f32).floor_mod(2.0), 0.5);
        assert_eq!((-7.5f32).floor_div(2.0), -4.0);
        assert_eq!(3i32.power(5), 243);
    }

    #[test]
    fn narrowing_rounds_to_even_and_keeps_nan() {
        for bits in (0..=u32::MAX).step_by(65_521) {
            let v = f32::from_bits(bits);
            let (a, b) = (narrow(v), bf16::from_f32(v));
            assert!(a == b || a.is_nan() && b.is_nan(), "{v}");
        }
        assert!(f32::NAN.larger(1.0).is_nan() && 1f32.larger(f32::NAN).is_nan());
        assert!(f32::NAN.smaller(1.0).is_nan() && 1f32.smaller(f32::NAN).is_nan());
    }
}
