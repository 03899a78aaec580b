//! The separable resizer (`tensorflow/core/kernels/image/scale_and_translate_op.cc`): antialiasing, and the kernels
//! that have no op of their own.

use super::simd::add_scaled;
use super::{Kernel, Sample, Scratch, Size, check};
use crate::Result;

/// For each output position the first source position and the weights from there on.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    starts: Vec<(usize, usize, usize)>,
    weights: Vec<f32>,
}

impl Spans {
    /// Fills in the spans of a dimension that goes from `from` to `to` positions.
    pub(crate) fn set(&mut self, kernel: Kernel, from: usize, to: usize, antialias: bool) {
        self.starts.clear();
        self.weights.clear();
        let scale = to as f32 / from as f32;
        let inverse = (1.0 / f64::from(scale)) as f32;
        let kernel_scale = if antialias { inverse.max(1.0) } else { 1.0 };
        let per_kernel = 1.0 / kernel_scale;
        let reach = kernel.radius() * kernel_scale;
        let bound = |v: f32| (v as i64).clamp(0, from as i64 - 1) as usize;
        for i in 0..to {
            let at = (i as f32 + 0.5) * inverse;
            let begin = self.weights.len();
            if at < 0.0 || at > from as f32 {
                self.starts.push((0, begin, begin));
                continue;
            }
            let first = bound((at - reach - 0.5).ceil());
            let last = bound((at + reach - 0.5).floor());
            let mut sum = 0.0;
            for j in first..=last {
                let weight = kernel.at(((j as f32 + 0.5 - at) * per_kernel).abs());
                sum += weight;
                self.weights.push(weight);
            }
            if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
                let inverse = 1.0 / sum;
                self.weights[begin..].iter_mut().for_each(|w| *w *= inverse);
            } else {
                self.weights[begin..].fill(0.0);
            }
            self.starts.push((first, begin, self.weights.len()));
        }
    }

    /// Makes of spans over positions spans over runs of `count` positions, each with the weight of its positions
    /// together. Position 0 is the one at `offset` from the start of a run, and that run has number 0 then.
    pub(crate) fn merge(&mut self, count: usize, offset: usize) {
        let Self { starts, weights } = self;
        let mut written = 0;
        for (first, begin, end) in starts {
            let run = (offset + *first) / count;
            let mut left = (run + 1) * count - (offset + *first);
            let from = written;
            // Never ahead of what is read: a run has at least one position.
            let mut read = *begin;
            while read < *end {
                let stop = (*end).min(read + left);
                weights[written] = weights[read..stop].iter().sum();
                written += 1;
                (read, left) = (stop, count);
            }
            (*first, *begin, *end) = (run, from, written);
        }
        weights.truncate(written);
    }

    /// Output position `i`: first source position, weights.
    pub(crate) fn get(&self, i: usize) -> (usize, &[f32]) {
        let (first, begin, end) = self.starts[i];
        (first, &self.weights[begin..end])
    }
}

/// Resizes with `kernel`, first between rows, then between columns. `antialias` widens the kernel by the factor by
/// which the image is made smaller.
///
/// # Errors
///
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when a size is 0 or does not fit its slice.
pub fn resize_scale<T: Sample>(
    kernel: Kernel,
    antialias: bool,
    src: &[T],
    from: Size,
    dst: &mut [f32],
    to: (usize, usize),
    scratch: &mut Scratch,
) -> Result<()> {
    check(src.len(), from, dst.len(), to)?;
    let Size { height, width, channels } = from;
    let [rows, columns] = &mut scratch.spans;
    rows.set(kernel, height, to.0, antialias);
    columns.set(kernel, width, to.1, antialias);
    let line = width * channels;
    let between = &mut scratch.rows[0];
    between.resize(line, 0.0);
    let between = &mut between[..line];
    for (y, out) in dst.chunks_exact_mut(to.1 * channels).enumerate() {
        between.fill(0.0);
        let (first, weights) = rows.get(y);
        for (row, &weight) in src[first * line..].chunks_exact(line).zip(weights) {
            add_scaled(row, weight, between);
        }
        for (x, out) in out.chunks_exact_mut(channels).enumerate() {
            let (first, weights) = columns.get(x);
            out.fill(0.0);
            for (pixel, &weight) in between[first * channels..].chunks_exact(channels).zip(weights) {
                for (o, p) in out.iter_mut().zip(pixel) {
                    *o += p * weight;
                }
            }
        }
    }
    Ok(())
}
