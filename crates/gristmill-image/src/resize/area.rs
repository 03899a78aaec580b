//! Area (`tensorflow/core/kernels/image/resize_area_op.cc`): the average over the source area of each pixel.

use super::{Sample, Size, check, step};
use crate::Result;

/// The source positions from `start` to below `end` and the shares of the first and the last of them.
#[derive(Debug, Clone, Copy)]
struct Range {
    start: usize,
    end: usize,
    first: f32,
    last: f32,
}

/// How much of source position `i` lies between `low` and `high`.
fn share(i: f32, low: f32, high: f32, step: f32) -> f32 {
    match (i < low, i + 1.0 > high) {
        (true, true) => step,
        (true, false) => i + 1.0 - low,
        (false, true) => high - i,
        (false, false) => 1.0,
    }
}

fn range(i: usize, step: f32) -> Range {
    let (low, high) = (i as f32 * step, (i + 1) as f32 * step);
    let (start, end) = (low.floor(), high.ceil());
    Range {
        start: start as usize,
        end: end as usize,
        first: share(start, low, high, step),
        last: share(end - 1.0, low, high, step),
    }
}

/// Resizes by averaging, with shares of the pixels at the borders of an area.
///
/// # Errors
///
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when a size is 0 or does not fit its slice.
pub fn resize_area<T: Sample>(src: &[T], from: Size, dst: &mut [f32], to: (usize, usize)) -> Result<()> {
    check(src.len(), from, dst.len(), to)?;
    let Size { height, width, channels } = from;
    let (row_step, column_step) = (step(height, to.0), step(width, to.1));
    let scale = (1.0 / f64::from(row_step * column_step)) as f32;
    let columns: Vec<Range> = (0..to.1).map(|x| range(x, column_step)).collect();
    for (y, out) in dst.chunks_exact_mut(to.1 * channels).enumerate() {
        let rows = range(y, row_step);
        for (columns, out) in columns.iter().zip(out.chunks_exact_mut(channels)) {
            for (c, out) in out.iter_mut().enumerate() {
                let mut sum = 0.0;
                for i in rows.start..rows.end {
                    let line = &src[i.min(height - 1) * width * channels..];
                    let sample = |x: usize| line[x.min(width - 1) * channels + c].to_f32();
                    let mut across = sample(columns.start) * columns.first;
                    if columns.start + 1 != columns.end {
                        for x in columns.start + 1..columns.end - 1 {
                            across += sample(x);
                        }
                        across += sample(columns.end - 1) * columns.last;
                    }
                    sum += across * share(i as f32, y as f32 * row_step, (y + 1) as f32 * row_step, row_step);
                }
                *out = sum * scale;
            }
        }
    }
    Ok(())
}
