//! A chain on an image that was decoded smaller, of which a pixel stands for a square of them.
//!
//! The resize is the antialiased one of the whole image: each pixel of the small one has the weights of its square
//! together. What a result differs by is thus only how the decoder's pixel differs from the mean of its square, there
//! where the weights change within the square.

use super::{Chain, Samples, Scratch, begin};
use crate::geometry::Window;
use crate::resize::simd::{add_scaled, to_f32, weigh_columns};
use crate::resize::{Kernel, Method, PADDING, Size, Spans};
use crate::{Error, Result};

/// By how much an image is decoded smaller where it is at least that many times as large as `to` (height, width);
/// `from` is the size of the part that is resized. `None` where it is to be decoded as it is.
///
/// Always by 8: there a block is its mean, without any transform. A half and a quarter would save nothing, as the
/// vector code for whole blocks is about as fast as theirs, and most of the time goes into reading the file.
#[must_use]
pub fn ratio(from: (usize, usize), to: (usize, usize)) -> Option<u32> {
    (from.0 / 8 >= to.0 && from.1 / 8 >= to.1).then_some(8)
}

/// Weights, rows that are waited for, and room for one row.
#[derive(Debug, Default)]
pub(super) struct Work {
    rows: Spans,
    columns: Spans,
    widened: Vec<f32>,
    /// The latest rows, weighed between columns, one after the other; that of number `i` at `i` modulo `held`.
    ring: Vec<f32>,
    held: usize,
    out: Vec<f32>,
}

/// A chain with a bilinear resize that runs while the rows of a smaller image come from top to bottom.
#[derive(Debug)]
pub struct Reduced<'a, 'd> {
    part: Window,
    channels: usize,
    /// The first row and column of the result, as the source has them, and how many are kept.
    keep: Window,
    /// Which orders of the kept ones are turned.
    turned: (bool, bool),
    next: usize,
    dst: &'a mut Samples<'d>,
    scratch: &'a mut Scratch,
}

impl<'a, 'd> Reduced<'a, 'd> {
    /// Begins a chain on `window` of an image that is decoded `ratio` times smaller; the window is in pixels of the
    /// whole. `dst` has [`sides`](super::sides) times the channels.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a chain without a bilinear resize, a ratio of 0, channels other than 1 and 3,
    /// and as [`run`](super::run).
    pub fn new(
        ratio: u32,
        window: Window,
        channels: usize,
        chain: &Chain<'_>,
        dst: &'a mut Samples<'d>,
        scratch: &'a mut Scratch,
    ) -> Result<Self> {
        let resize = chain.resize.filter(|r| r.method == Method::Bilinear);
        let (Some(resize), 1.., 1 | 3) = (resize, ratio, channels) else {
            return Err(Error::invalid("the chain does not run on a smaller image"));
        };
        let ratio = ratio as usize;
        let span = |at: usize, n: usize| (at / ratio, (at + n).div_ceil(ratio) - at / ratio);
        let ((y, height), (x, width)) = (span(window.y, window.height), span(window.x, window.width));
        let part = Window { y, x, height, width };
        let from = Window::whole(height, width);
        begin(Size::new(height, width, channels), from, chain, dst, scratch)?;
        let Work { rows, columns, widened, ring, held, out } = &mut scratch.reduced;
        rows.set(Kernel::Triangle, window.height, resize.to.0, true);
        rows.merge(ratio, window.y % ratio);
        columns.set(Kernel::Triangle, window.width, resize.to.1, true);
        columns.merge(ratio, window.x % ratio);
        let (before, after, kept) = (chain.mirror_before, chain.mirror_after, resize.keep);
        // A mirrored source gives the mirrored result, as the weights are symmetric.
        let keep = Window {
            y: if before.rows { resize.to.0 - kept.y - kept.height } else { kept.y },
            x: if before.columns { resize.to.1 - kept.x - kept.width } else { kept.x },
            ..kept
        };
        let both = before.then(after);
        *held = (keep.y..keep.y + keep.height).map(|y| rows.get(y).1.len()).max().unwrap_or(0).max(1);
        let samples = keep.width * channels;
        widened.resize(width * channels + PADDING, 0.0);
        ring.resize(*held * (samples + PADDING), 0.0);
        out.resize(samples, 0.0);
        Ok(Self { part, channels, keep, turned: (both.rows, both.columns), next: 0, dst, scratch })
    }

    /// The part of the smaller image that is read, in its pixels.
    #[must_use]
    pub fn part(&self) -> Window {
        self.part
    }

    /// Takes whole rows of the part, of which `first` is the number of the first: all in order, each once.
    pub fn band(&mut self, first: usize, samples: &[u8]) {
        let line = self.part.width * self.channels;
        for (y, row) in (first..).zip(samples.chunks_exact(line)) {
            self.row(y, row);
        }
    }

    fn row(&mut self, y: usize, row: &[u8]) {
        let (keep, channels) = (self.keep, self.channels);
        let samples = keep.width * channels;
        let Scratch { reduced, before, after, .. } = &mut *self.scratch;
        let Work { rows, columns, widened, ring, held, out } = reduced;
        let needed = |next: usize| (next < keep.height).then(|| rows.get(keep.y + next));
        if needed(self.next).is_none_or(|(first, _)| y < first) {
            return;
        }
        to_f32(row, widened);
        before.apply(&mut widened[..row.len()]);
        let stride = samples + PADDING;
        let slot = &mut ring[y % *held * stride..][..stride];
        weigh_columns(widened, columns, keep.x, channels, slot);
        while let Some((first, weights)) = needed(self.next).filter(|(first, w)| first + w.len() <= y + 1) {
            out.fill(0.0);
            for (y, &weight) in (first..).zip(weights) {
                add_scaled(&ring[y % *held * stride..][..samples], weight, out);
            }
            if self.turned.1 {
                super::reverse(out, channels);
            }
            after.apply(out);
            let at = if self.turned.0 { keep.height - 1 - self.next } else { self.next };
            self.dst.write(at, out);
            self.next += 1;
        }
    }
}
