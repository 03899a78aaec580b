//! Bicubic without antialiasing (`tensorflow/core/kernels/image/resize_bicubic_op.cc`, half-pixel centres): Keys'
//! kernel with a = -0.5 from a table of 1024 fractions; taps outside of the image do not count.

use std::sync::LazyLock;

use super::simd::weigh_rows;
use super::{Sample, Scratch, Size, check, step};
use crate::Result;

const TABLE: usize = 1024;

/// The kernel at `i / 1024` and at `1 + i / 1024`.
static COEFFICIENTS: LazyLock<Vec<[f32; 2]>> = LazyLock::new(|| {
    let a = -0.5f64;
    (0..=TABLE)
        .map(|i| {
            let x = f64::from((i as f64 / TABLE as f64) as f32);
            let near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
            let x = f64::from((x + 1.0) as f32);
            let far = ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
            [near as f32, far as f32]
        })
        .collect()
});

/// Four source positions and their weights.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cubic {
    index: [u32; 4],
    weight: [f32; 4],
}

fn cubic(i: usize, from: usize, step: f32) -> Cubic {
    let at = (i as f32 + 0.5) * step - 0.5;
    let base = at.floor();
    let offset = ((at - base) * TABLE as f32).round_ties_even() as usize;
    let (left, right) = (COEFFICIENTS[offset], COEFFICIENTS[TABLE - offset]);
    let base = base as i64;
    let bound = |v: i64| v.clamp(0, from as i64 - 1);
    let place = [base - 1, base, base + 1, base + 2];
    let weight = [left[1], left[0], right[0], right[1]];
    let mut taps = Cubic {
        index: place.map(|p| bound(p) as u32),
        weight: std::array::from_fn(|k| if bound(place[k]) == place[k] { weight[k] } else { 0.0 }),
    };
    let sum = taps.weight[0] + taps.weight[1] + taps.weight[2] + taps.weight[3];
    if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
        let inverse = 1.0 / sum;
        taps.weight = taps.weight.map(|w| w * inverse);
    }
    taps
}

/// Resizes by bicubic interpolation: first between rows, then between columns.
///
/// # Errors
///
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when a size is 0 or does not fit its slice.
pub fn resize_bicubic<T: Sample>(
    src: &[T],
    from: Size,
    dst: &mut [f32],
    to: (usize, usize),
    scratch: &mut Scratch,
) -> Result<()> {
    check(src.len(), from, dst.len(), to)?;
    let Size { height, width, channels } = from;
    let column_step = step(width, to.1);
    scratch.cubic.clear();
    scratch.cubic.extend((0..to.1).map(|x| cubic(x, width, column_step)));
    let row_step = step(height, to.0);
    let line = width * channels;
    let between = &mut scratch.rows[0];
    between.resize(line, 0.0);
    for (y, out) in dst.chunks_exact_mut(to.1 * channels).enumerate() {
        let taps = cubic(y, height, row_step);
        let rows = taps.index.map(|i| &src[i as usize * line..(i as usize + 1) * line]);
        weigh_rows(rows, taps.weight, &mut between[..line]);
        for (taps, out) in scratch.cubic.iter().zip(out.chunks_exact_mut(channels)) {
            let at = taps.index.map(|i| i as usize * channels);
            for (c, out) in out.iter_mut().enumerate() {
                *out = between[at[0] + c] * taps.weight[0]
                    + between[at[1] + c] * taps.weight[1]
                    + between[at[2] + c] * taps.weight[2]
                    + between[at[3] + c] * taps.weight[3];
            }
        }
    }
    Ok(())
}
