//! Bilinear without antialiasing (`tensorflow/core/kernels/image/resize_bilinear_op.cc`), the method that training
//! pipelines use most.

use super::rgb8::lerp_columns_rgb8;
use super::simd::{lerp_columns, lerp_columns_padded, lerp_rows, to_f32};
use super::{Sample, Scratch, Size, Tap, check, step};
use crate::Result;

/// Room after a row for loads and stores of four samples.
pub(crate) const PADDING: usize = 4;

/// Position `i` of `to` in a dimension of `from`: the two neighbours and the share of the second.
pub(crate) fn tap(i: usize, from: usize, step: f32, unit: usize) -> Tap {
    let at = (i as f32 + 0.5) * step - 0.5;
    let low = at.floor();
    let limit = from as f32 - 1.0;
    // Above 2^24 pixels `limit` may round up, hence the integer bound.
    let index = |v: f32| (v.max(0.0).min(limit) as usize).min(from - 1);
    Tap { low: (index(low) * unit) as u32, high: (index(at.ceil()) * unit) as u32, fraction: at - low }
}

/// Interpolates one source row between its columns into `out` (padded).
fn columns<T: Sample>(row: &[T], taps: &[Tap], channels: usize, widened: &mut Vec<f32>, out: &mut [f32]) {
    if let (3, Some(bytes)) = (channels, T::as_bytes(row)) {
        return lerp_columns_rgb8(bytes, taps, out);
    }
    // Up to four channels a pixel fits into one vector register, once the row is f32; converting the whole row pays
    // unless most of it is skipped.
    if channels > 1 && channels <= 4 && row.len() <= 3 * taps.len() * channels {
        widened.resize(row.len() + PADDING, 0.0);
        to_f32(row, &mut widened[..row.len()]);
        lerp_columns_padded(widened, taps, channels, out);
    } else {
        lerp_columns(row, taps, channels, out);
    }
}

/// Resizes by bilinear interpolation between the four neighbours, bit for bit as TensorFlow: first between columns,
/// then between rows, each `a + (b - a) * f` in `f32`.
///
/// # Errors
///
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when a size is 0 or does not fit its slice.
pub fn resize_bilinear<T: Sample>(
    src: &[T],
    from: Size,
    dst: &mut [f32],
    to: (usize, usize),
    scratch: &mut Scratch,
) -> Result<()> {
    check(src.len(), from, dst.len(), to)?;
    let Size { height, width, channels } = from;
    if (height, width) == to {
        to_f32(src, dst);
        return Ok(());
    }
    let key = (width, to.1, channels);
    if scratch.table != Some(key) {
        let scale = step(width, to.1);
        scratch.columns.clear();
        scratch.columns.extend((0..to.1).map(|x| tap(x, width, scale, channels)));
        scratch.table = Some(key);
    }
    let row_samples = to.1 * channels;
    let [widened, first, second] = &mut scratch.rows;
    first.resize(row_samples + PADDING, 0.0);
    second.resize(row_samples + PADDING, 0.0);
    // Which source rows the two buffers hold.
    let mut held = [usize::MAX; 2];
    let scale = step(height, to.0);
    let source = |y: usize| &src[y * width * channels..(y + 1) * width * channels];
    for (y, out) in dst.chunks_exact_mut(row_samples).enumerate() {
        let tap = tap(y, height, scale, 1);
        let (low, high) = (tap.low as usize, tap.high as usize);
        if held[0] != low {
            if held[1] == low {
                std::mem::swap(first, second);
                held.swap(0, 1);
            } else {
                columns(source(low), &scratch.columns, channels, widened, first);
                held[0] = low;
            }
        }
        if high != low && held[1] != high {
            columns(source(high), &scratch.columns, channels, widened, second);
            held[1] = high;
        }
        let below = if high == low { &*first } else { &*second };
        lerp_rows(&first[..row_samples], &below[..row_samples], tap.fraction, out);
    }
    Ok(())
}
