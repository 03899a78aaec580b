//! Bilinear rows with the steps of a chain around them.

use super::step::Steps;
use super::{Mirror, Rows, Samples};
use crate::geometry::Window;
use crate::resize::rgb8::lerp_columns_rgb8;
use crate::resize::simd::{lerp_columns, lerp_columns_padded, lerp_rows};
use crate::resize::{PADDING, Sample, Tap, step, tap};

/// What is computed of a source of height and width `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) from: (usize, usize),
    pub(super) channels: usize,
    pub(super) to: (usize, usize),
    pub(super) keep: Window,
    pub(super) before: Mirror,
    pub(super) after: Mirror,
}

/// What a table of columns was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Geometry {
    width: usize,
    to: usize,
    keep: (usize, usize),
    channels: usize,
    mirrored: (bool, bool),
}

/// Rows between columns and rows, and the table of columns of the last geometry.
#[derive(Debug, Default)]
pub(super) struct Work {
    columns: Vec<Tap>,
    made_for: Option<Geometry>,
    widened: Vec<f32>,
    rows: [Vec<f32>; 2],
    out: Vec<f32>,
    /// Which source rows `rows` holds.
    held: [usize; 2],
    /// The next row of the result.
    next: usize,
}

impl Work {
    /// Begins an image.
    pub(super) fn begin(&mut self, plan: &Plan) {
        let keep = plan.keep;
        self.set_columns(Geometry {
            width: plan.from.1,
            to: plan.to.1,
            keep: (keep.x, keep.width),
            channels: plan.channels,
            mirrored: (plan.before.columns, plan.after.columns),
        });
        let samples = keep.width * plan.channels;
        self.widened.resize(plan.from.1 * plan.channels + PADDING, 0.0);
        self.rows.iter_mut().for_each(|r| r.resize(samples + PADDING, 0.0));
        self.out.resize(samples, 0.0);
        self.held = [usize::MAX; 2];
        self.next = 0;
    }

    fn set_columns(&mut self, g: Geometry) {
        if self.made_for == Some(g) {
            return;
        }
        self.made_for = Some(g);
        let (scale, last) = (step(g.width, g.to), (g.width - 1) * g.channels);
        let column = |i: usize| {
            let x = g.keep.0 + if g.mirrored.1 { g.keep.1 - 1 - i } else { i };
            let tap = tap(x, g.width, scale, g.channels);
            if g.mirrored.0 {
                return Tap { low: last as u32 - tap.low, high: last as u32 - tap.high, ..tap };
            }
            tap
        };
        self.columns.clear();
        self.columns.extend((0..g.keep.1).map(column));
    }

    /// Makes all rows of the result that the source's rows so far allow. The rows come from top to bottom, each once;
    /// all at once where the source is mirrored.
    pub(super) fn feed<T: Sample>(
        &mut self,
        rows: Rows<'_, T>,
        plan: &Plan,
        (before, after): (&Steps, &Steps),
        dst: &mut Samples<'_>,
    ) {
        let (height, end) = (plan.from.0, rows.first + rows.count);
        let scale = step(height, plan.to.0);
        let samples = plan.keep.width * plan.channels;
        let place = |at: u32| if plan.before.rows { height - 1 - at as usize } else { at as usize };
        while self.next < plan.keep.height {
            let tap = tap(plan.keep.y + self.next, height, scale, 1);
            let (low, high) = (place(tap.low), place(tap.high));
            if low.max(high) >= end {
                // The lower row is to come, the upper one will be gone then.
                if low < end && !self.held.contains(&low) {
                    between_columns(&rows, low, before, &self.columns, &mut self.widened, &mut self.rows[0]);
                    self.held[0] = low;
                }
                return;
            }
            self.hold(&rows, low, high, before);
            let below = &self.rows[usize::from(high != low)][..samples];
            let at = if plan.after.rows { plan.keep.height - 1 - self.next } else { self.next };
            if let Some(out) = dst.in_place(at, samples) {
                lerp_rows(&self.rows[0][..samples], below, tap.fraction, out);
                after.apply(out);
            } else {
                lerp_rows(&self.rows[0][..samples], below, tap.fraction, &mut self.out);
                after.apply(&mut self.out);
                dst.write(at, &self.out);
            }
            self.next += 1;
        }
    }

    /// Puts the source's rows `low` and `high`, interpolated between columns, into the two buffers.
    fn hold<T: Sample>(&mut self, rows: &Rows<'_, T>, low: usize, high: usize, steps: &Steps) {
        if self.held[0] != low && (self.held[1] == low || self.held[0] == high) {
            self.rows.swap(0, 1);
            self.held.swap(0, 1);
        }
        for (k, y) in [low, high].into_iter().enumerate() {
            if self.held[k] != y && (k == 0 || high != low) {
                between_columns(rows, y, steps, &self.columns, &mut self.widened, &mut self.rows[k]);
                self.held[k] = y;
            }
        }
    }
}

/// One source row, interpolated between its columns into `out` (padded).
fn between_columns<T: Sample>(
    rows: &Rows<'_, T>,
    y: usize,
    steps: &Steps,
    taps: &[Tap],
    widened: &mut [f32],
    out: &mut [f32],
) {
    let (channels, samples) = (rows.channels, rows.width * rows.channels);
    if let (true, 3, Some(bytes)) = (steps.is_empty(), channels, T::as_bytes(rows.row_and_on(y))) {
        return lerp_columns_rgb8(bytes, taps, out);
    }
    let few = samples > 3 * taps.len() * channels;
    if steps.is_empty() && (channels == 1 || channels > 4 || few) {
        return lerp_columns(rows.row(y), taps, channels, out);
    }
    rows.prepared(y, steps, &mut widened[..samples]);
    if (2..=4).contains(&channels) {
        lerp_columns_padded(widened, taps, channels, out);
    } else {
        lerp_columns(&widened[..samples], taps, channels, out);
    }
}
