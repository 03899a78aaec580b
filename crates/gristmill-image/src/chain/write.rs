//! The rows of a result, written in the type that is wanted.

use crate::resize::simd;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// Where a chain's result goes, by the type of its samples.
#[derive(Debug)]
pub enum Samples<'a> {
    /// 8 bits: cut towards zero, 0 and 255 at the limits.
    U8(&'a mut [u8]),
    /// As computed.
    F32(&'a mut [f32]),
    /// Rounded to nearest, ties to even.
    F16(&'a mut [f16]),
    /// Rounded to nearest, ties to even.
    BF16(&'a mut [bf16]),
}

impl Samples<'_> {
    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U8(s) => s.len(),
            Self::F32(s) => s.len(),
            Self::F16(s) => s.len(),
            Self::BF16(s) => s.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory of row `y`, where rows can be computed in place.
    pub(super) fn in_place(&mut self, y: usize, samples: usize) -> Option<&mut [f32]> {
        match self {
            Self::F32(s) => Some(&mut s[y * samples..(y + 1) * samples]),
            _ => None,
        }
    }

    /// Writes row `y`.
    pub(super) fn write(&mut self, y: usize, row: &[f32]) {
        let at = y * row.len()..(y + 1) * row.len();
        match self {
            Self::U8(s) => simd::to_u8(row, &mut s[at]),
            Self::F32(s) => s[at].copy_from_slice(row),
            Self::F16(s) => s[at].convert_from_f32_slice(row),
            Self::BF16(s) => simd::to_bf16(row, &mut s[at]),
        }
    }
}
