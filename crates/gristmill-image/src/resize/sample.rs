//! The types that images come in.

use half::{bf16, f16};

/// A sample that can be resized: anything that becomes an `f32`.
pub trait Sample: Copy + Default + PartialEq + Send + Sync + 'static {
    /// The value as TensorFlow's `static_cast<float>`.
    fn to_f32(self) -> f32;

    /// The samples as bytes, if that is what they are.
    #[doc(hidden)]
    fn as_bytes(_: &[Self]) -> Option<&[u8]> {
        None
    }
}

macro_rules! sample {
    ($($t:ty),*) => {
        $(impl Sample for $t {
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
        })*
    };
}

impl Sample for u8 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f32::from(self)
    }

    fn as_bytes(samples: &[Self]) -> Option<&[u8]> {
        Some(samples)
    }
}

sample!(i8, u16, i16, u32, i32, u64, i64, f32, f64);

impl Sample for f16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        f16::to_f32(self)
    }
}

impl Sample for bf16 {
    #[inline(always)]
    fn to_f32(self) -> f32 {
        bf16::to_f32(self)
    }
}
