//! A chain of per-pixel work around one resize, done row by row while the row is in cache, and written once.
//!
//! `before` and `after` are what stands before and after the resize: arithmetic with one number or one number a
//! channel, and rounding to the 16-bit floats. Every step rounds as it does alone, in the order given, so that the
//! result is bit for bit that of one pass after the other. Mirroring costs nothing: it turns the order in which rows
//! and columns are looked up.

mod bilinear;
mod reduced;
mod step;
mod write;

pub use reduced::{Reduced, ratio};
pub use step::{Half, Operation, Step};
pub use write::Samples;

use crate::geometry::Window;
use crate::resize::{self, Method, Sample, Size};
use crate::{Error, Result};
use step::Steps;

/// Which orders are turned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mirror {
    /// The last row first (`flip_up_down`).
    pub rows: bool,
    /// The last column first (`flip_left_right`).
    pub columns: bool,
}

impl Mirror {
    /// This and then another.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        Self { rows: self.rows != next.rows, columns: self.columns != next.columns }
    }
}

/// What is read: a window of an image.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a, T> {
    /// The samples of the whole image, row-major.
    pub samples: &'a [T],
    /// Its size.
    pub size: Size,
    /// The part that the chain works on.
    pub window: Window,
}

/// Some rows of the window of a source.
#[derive(Debug, Clone, Copy)]
struct Rows<'a, T> {
    /// From the first sample of the first row on.
    samples: &'a [T],
    /// From one row to the next, in samples.
    stride: usize,
    /// Pixels of a row that count, and samples a pixel.
    width: usize,
    channels: usize,
    /// Number of the first row in the window, and how many there are.
    first: usize,
    count: usize,
}

impl<'a, T: Sample> Rows<'a, T> {
    fn of(source: &Source<'a, T>) -> Self {
        let (window, channels) = (source.window, source.size.channels);
        let stride = source.size.width * channels;
        let samples = &source.samples[window.y * stride + window.x * channels..];
        Self { samples, stride, width: window.width, channels, first: 0, count: window.height }
    }

    /// From the start of row `y` of the window on.
    fn row_and_on(&self, y: usize) -> &'a [T] {
        &self.samples[(y - self.first) * self.stride..]
    }

    fn row(&self, y: usize) -> &'a [T] {
        &self.row_and_on(y)[..self.width * self.channels]
    }

    /// Row `y` as `f32` after the first steps.
    fn prepared(&self, y: usize, steps: &Steps, row: &mut [f32]) {
        resize::simd::to_f32(self.row(y), row);
        steps.apply(row);
    }
}

/// The resize of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resize {
    /// Any method but [`Method::Nearest`].
    pub method: Method,
    /// Whether the kernel widens when an image is made smaller.
    pub antialias: bool,
    /// Height and width of the result.
    pub to: (usize, usize),
    /// The part of the result that is made; the rest is never computed.
    pub keep: Window,
}

/// What happens to the pixels, in this order: `before`, `mirror_before`, `resize`, `after`, `mirror_after`.
#[derive(Debug, Clone, Copy)]
pub struct Chain<'a> {
    /// Steps on the source's pixels.
    pub before: &'a [Step<'a>],
    /// Mirroring of the source.
    pub mirror_before: Mirror,
    /// The resize, if there is one.
    pub resize: Option<Resize>,
    /// Steps on the result's pixels.
    pub after: &'a [Step<'a>],
    /// Mirroring of the result.
    pub mirror_after: Mirror,
}

/// Working memory, kept from image to image so that a steady state allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    bilinear: bilinear::Work,
    reduced: reduced::Work,
    resizer: resize::Scratch,
    before: Steps,
    after: Steps,
    row: Vec<f32>,
    plain: Vec<f32>,
    resized: Vec<f32>,
}

/// Height and width of a chain's result.
#[must_use]
pub fn sides(window: Window, chain: &Chain<'_>) -> (usize, usize) {
    let kept = chain.resize.map_or(window, |r| r.keep);
    (kept.height, kept.width)
}

/// Whether a chain can run while its source comes row by row, from top to bottom.
#[must_use]
pub fn streams(chain: &Chain<'_>) -> bool {
    !chain.mirror_before.rows && chain.resize.is_none_or(|r| r.method == Method::Bilinear && !r.antialias)
}

/// A chain that runs while its source comes row by row.
#[derive(Debug)]
pub struct Stream<'a, 'd> {
    way: Way,
    size: Size,
    mirror: Mirror,
    dst: &'a mut Samples<'d>,
    scratch: &'a mut Scratch,
}

/// How rows are made.
#[derive(Debug)]
enum Way {
    /// Nothing is resized; what stays of the source.
    Copy(Window),
    Bilinear(bilinear::Plan),
}

impl<'a, 'd> Stream<'a, 'd> {
    /// Begins a chain that [`streams`] on an image of that size; `dst` has [`sides`] times its channels.
    ///
    /// # Errors
    ///
    /// As [`run`]; [`Error::InvalidArgument`] for a chain that does not stream.
    pub fn new(
        size: Size,
        chain: &Chain<'_>,
        dst: &'a mut Samples<'d>,
        scratch: &'a mut Scratch,
    ) -> Result<Self> {
        let window = Window::whole(size.height, size.width);
        begin(size, window, chain, dst, scratch)?;
        if !streams(chain) {
            return Err(Error::invalid("the chain needs the whole image at once"));
        }
        let way = way(window, size.channels, chain);
        if let Way::Bilinear(plan) = &way {
            scratch.bilinear.begin(plan);
        }
        let mirror = chain.mirror_before.then(chain.mirror_after);
        Ok(Self { way, size, mirror, dst, scratch })
    }

    /// Takes whole rows of the source, of which `first` is the number of the first: all in order, each once.
    pub fn band<T: Sample>(&mut self, first: usize, samples: &[T]) {
        let Size { width, channels, .. } = self.size;
        let stride = width * channels;
        let rows = Rows { samples, stride, width, channels, first, count: samples.len() / stride };
        make(rows, &self.way, self.mirror, self.dst, self.scratch);
    }
}

/// Checks the arguments of a run and makes its steps ready.
fn begin(
    Size { height, width, channels }: Size,
    window: Window,
    chain: &Chain<'_>,
    dst: &Samples<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let (h, w) = sides(window, chain);
    let fits = window.fits(height, width)
        && Size::new(height, width, channels).samples().is_some()
        && Size::new(h, w, channels).samples() == Some(dst.len())
        && chain.resize.is_none_or(|r| r.keep.fits(r.to.0, r.to.1) && r.method != Method::Nearest)
        && channels > 0
        && width.saturating_mul(channels) <= u32::MAX as usize / 2
        && height <= u32::MAX as usize / 2;
    if !fits {
        return Err(Error::invalid(format!(
            "an image of [{height},{width},{channels}], its window {window:?} and an output of {} samples do not fit \
             together",
            dst.len()
        )));
    }
    scratch.before.set(chain.before, channels, window.width)?;
    scratch.after.set(chain.after, channels, w)
}

/// How the rows of a chain without antialiasing are made.
fn way(window: Window, channels: usize, chain: &Chain<'_>) -> Way {
    let from = (window.height, window.width);
    match chain.resize {
        None => Way::Copy(Window::whole(from.0, from.1)),
        // Of a mirrored image another part would be kept.
        Some(r)
            if r.to == from
                && (chain.mirror_before == Mirror::default() || r.keep == Window::whole(from.0, from.1)) =>
        {
            Way::Copy(r.keep)
        }
        Some(r) => Way::Bilinear(bilinear::Plan {
            from,
            channels,
            to: r.to,
            keep: r.keep,
            before: chain.mirror_before,
            after: chain.mirror_after,
        }),
    }
}

/// Makes what some rows of the source allow.
fn make<T: Sample>(
    rows: Rows<'_, T>,
    way: &Way,
    mirror: Mirror,
    dst: &mut Samples<'_>,
    scratch: &mut Scratch,
) {
    let Scratch { bilinear, before, after, row, .. } = scratch;
    match way {
        Way::Bilinear(plan) => bilinear.feed(rows, plan, (before, after), dst),
        Way::Copy(keep) => {
            row.resize(rows.width * rows.channels, 0.0);
            let (from, to) = (keep.y.max(rows.first), (keep.y + keep.height).min(rows.first + rows.count));
            for y in from..to {
                rows.prepared(y, before, row);
                let kept = &mut row[keep.x * rows.channels..(keep.x + keep.width) * rows.channels];
                if mirror.columns {
                    reverse(kept, rows.channels);
                }
                after.apply(kept);
                let y = y - keep.y;
                dst.write(if mirror.rows { keep.height - 1 - y } else { y }, kept);
            }
        }
    }
}

/// Runs a chain; `dst` has [`sides`] times the source's channels.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when a size is 0 or does not fit its slice, a window lies outside, or a step has neither
/// one number nor one a channel.
pub fn run<T: Sample>(
    source: Source<'_, T>,
    chain: &Chain<'_>,
    dst: &mut Samples<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    begin(source.size, source.window, chain, dst, scratch)?;
    if source.size.samples() != Some(source.samples.len()) {
        return Err(Error::invalid(format!(
            "an image of {:?} has not {} samples",
            source.size,
            source.samples.len()
        )));
    }
    match chain.resize {
        Some(r) if r.method != Method::Bilinear || r.antialias => by_whole(source, chain, r, dst, scratch),
        _ => {
            let way = way(source.window, source.size.channels, chain);
            if let Way::Bilinear(plan) = &way {
                scratch.bilinear.begin(plan);
            }
            let mirror = chain.mirror_before.then(chain.mirror_after);
            make(Rows::of(&source), &way, mirror, dst, scratch);
            Ok(())
        }
    }
}

/// Turns the order of the pixels of a row.
fn reverse(row: &mut [f32], channels: usize) {
    row.reverse();
    if channels > 1 {
        row.chunks_exact_mut(channels).for_each(<[f32]>::reverse);
    }
}

/// The methods that look at many rows at a time: the whole image in `f32`, then the steps row by row.
fn by_whole<T: Sample>(
    source: Source<'_, T>,
    chain: &Chain<'_>,
    resize: Resize,
    dst: &mut Samples<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let Scratch { resizer, before, after, row, plain, resized, .. } = scratch;
    let (Window { height, width, .. }, channels) = (source.window, source.size.channels);
    let (line, rows) = (width * channels, Rows::of(&source));
    plain.resize(height * line, 0.0);
    for (y, to) in plain.chunks_exact_mut(line).enumerate() {
        rows.prepared(if chain.mirror_before.rows { height - 1 - y } else { y }, before, to);
        if chain.mirror_before.columns {
            reverse(to, channels);
        }
    }
    let (to, keep) = (resize.to, resize.keep);
    let samples = Size::new(to.0, to.1, channels).samples();
    resized.resize(samples.ok_or_else(|| Error::invalid("the output is too large"))?, 0.0);
    let from = Size::new(height, width, channels);
    resize::resize(resize.method, resize.antialias, plain, from, resized, to, resizer)?;
    row.resize(keep.width * channels, 0.0);
    for y in 0..keep.height {
        let at = ((keep.y + y) * to.1 + keep.x) * channels;
        row.copy_from_slice(&resized[at..at + keep.width * channels]);
        if chain.mirror_after.columns {
            reverse(row, channels);
        }
        after.apply(row);
        dst.write(if chain.mirror_after.rows { keep.height - 1 - y } else { y }, row);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
