//! Moving pixels, and the arithmetic of sizes: `tf.image.flip_*`, `rot90`, `transpose`, crops and pads
//! (`tensorflow/python/ops/image_ops_impl.py`).
//!
//! Samples are only moved, so images are bytes here; `channels` of a [`Size`] is the number of bytes a pixel (channels
//! times the size of a sample).

use crate::resize::Size;
use crate::{Error, Result};

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// First row.
    pub y: usize,
    /// First column.
    pub x: usize,
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
}

impl Window {
    /// All of an image.
    #[must_use]
    pub fn whole(height: usize, width: usize) -> Self {
        Self { y: 0, x: 0, height, width }
    }

    /// Whether it lies in an image of that size and is not empty.
    #[must_use]
    pub fn fits(&self, height: usize, width: usize) -> bool {
        let inside =
            |at: usize, n: usize, side: usize| n > 0 && at.checked_add(n).is_some_and(|end| end <= side);
        inside(self.y, self.height, height) && inside(self.x, self.width, width)
    }

    /// The window `inner` of this one, in the coordinates of the image.
    #[must_use]
    pub fn part(&self, inner: Self) -> Self {
        Self { y: self.y + inner.y, x: self.x + inner.x, ..inner }
    }
}

fn check(src: &[u8], from: Size, dst: &[u8], to: Size) -> Result<()> {
    if from.samples() == Some(src.len()) && to.samples() == Some(dst.len()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "image of {} bytes and output of {} do not have the shapes {from:?} and {to:?}",
        src.len(),
        dst.len()
    )))
}

fn turned(size: Size) -> Size {
    Size::new(size.width, size.height, size.channels)
}

/// Mirrors every row.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when a slice does not fit `size`, as in all functions here.
pub fn flip_left_right(src: &[u8], size: Size, dst: &mut [u8]) -> Result<()> {
    check(src, size, dst, size)?;
    let row = (size.width * size.channels).max(1);
    for (from, to) in src.chunks_exact(row).zip(dst.chunks_exact_mut(row)) {
        let pixels = from.chunks_exact(size.channels).rev();
        for (from, to) in pixels.zip(to.chunks_exact_mut(size.channels)) {
            to.copy_from_slice(from);
        }
    }
    Ok(())
}

/// Turns the order of the rows.
///
/// # Errors
///
/// As [`flip_left_right`].
pub fn flip_up_down(src: &[u8], size: Size, dst: &mut [u8]) -> Result<()> {
    check(src, size, dst, size)?;
    let row = (size.width * size.channels).max(1);
    for (from, to) in src.chunks_exact(row).rev().zip(dst.chunks_exact_mut(row)) {
        to.copy_from_slice(from);
    }
    Ok(())
}

/// Fills `dst` (of size `to`) pixel by pixel with the pixel of `src` that `place(y, x)` names.
fn gather(
    src: &[u8],
    from: Size,
    dst: &mut [u8],
    to: Size,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Result<()> {
    check(src, from, dst, to)?;
    let pixel = to.channels.max(1);
    let row = (to.width * pixel).max(1);
    for (y, out) in dst.chunks_exact_mut(row).enumerate() {
        for (x, out) in out.chunks_exact_mut(pixel).enumerate() {
            let (sy, sx) = place(y, x);
            let at = (sy * from.width + sx) * pixel;
            out.copy_from_slice(&src[at..at + pixel]);
        }
    }
    Ok(())
}

/// Exchanges rows and columns; the result is `size.width` rows of `size.height` pixels.
///
/// # Errors
///
/// As [`flip_left_right`].
pub fn transpose(src: &[u8], size: Size, dst: &mut [u8]) -> Result<()> {
    gather(src, size, dst, turned(size), |y, x| (x, y))
}

/// The size after [`rot90`] by `k` quarter turns.
#[must_use]
pub fn rot90_size(size: Size, k: i64) -> Size {
    if k.rem_euclid(2) == 1 { turned(size) } else { size }
}

/// Turns by `k` quarters against the clock; negative `k` with it. `dst` has the size [`rot90_size`].
///
/// # Errors
///
/// As [`flip_left_right`].
pub fn rot90(src: &[u8], size: Size, k: i64, dst: &mut [u8]) -> Result<()> {
    let (h, w) = (size.height, size.width);
    match k.rem_euclid(4) {
        0 => {
            check(src, size, dst, size)?;
            dst.copy_from_slice(src);
            Ok(())
        }
        1 => gather(src, size, dst, turned(size), |y, x| (x, w - 1 - y)),
        2 => gather(src, size, dst, size, |y, x| (h - 1 - y, w - 1 - x)),
        _ => gather(src, size, dst, turned(size), |y, x| (h - 1 - x, y)),
    }
}

/// Copies `window` out of an image.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the window does not lie inside the image, with TensorFlow's words, or is empty.
pub fn crop(src: &[u8], size: Size, window: Window, dst: &mut [u8]) -> Result<()> {
    check(src, size, dst, Size::new(window.height, window.width, size.channels))?;
    let inside =
        |offset: usize, target: usize, n: usize| offset.checked_add(target).is_some_and(|end| end <= n);
    for (name, offset, target, n) in
        [("height", window.y, window.height, size.height), ("width", window.x, window.width, size.width)]
    {
        if target == 0 {
            return Err(Error::invalid(format!("target_{name} must be > 0.")));
        }
        if !inside(offset, target, n) {
            return Err(Error::invalid(format!(
                "{name} must be >= target + offset. got {n}, target {target} and offset {offset}"
            )));
        }
    }
    let row = window.width * size.channels;
    for (i, out) in dst.chunks_exact_mut(row.max(1)).enumerate() {
        let at = ((window.y + i) * size.width + window.x) * size.channels;
        out.copy_from_slice(&src[at..at + row]);
    }
    Ok(())
}

/// Puts an image at (`y`, `x`) of a larger one of `to` = (height, width); the rest is 0.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the image does not fit there, with TensorFlow's words.
pub fn pad(src: &[u8], size: Size, (y, x): (usize, usize), to: (usize, usize), dst: &mut [u8]) -> Result<()> {
    check(src, size, dst, Size::new(to.0, to.1, size.channels))?;
    for (name, offset, n, target) in [("height", y, size.height, to.0), ("width", x, size.width, to.1)] {
        if offset.checked_add(n).is_none_or(|end| end > target) {
            return Err(Error::invalid(format!(
                "{name} must be <= target - offset. got {n}, target {target} and offset {offset}"
            )));
        }
    }
    dst.fill(0);
    let row = size.width * size.channels;
    if row == 0 {
        return Ok(());
    }
    for (i, line) in src.chunks_exact(row).enumerate() {
        let at = ((y + i) * to.1 + x) * size.channels;
        dst[at..at + row].copy_from_slice(line);
    }
    Ok(())
}

/// The window of `tf.image.central_crop`.
///
/// # Errors
///
/// [`Error::InvalidArgument`] unless `fraction` is above 0 and at most 1.
pub fn central_crop(height: usize, width: usize, fraction: f64) -> Result<Window> {
    if !(fraction > 0.0 && fraction <= 1.0) {
        return Err(Error::invalid(format!("central_fraction must be within (0, 1], got {fraction}")));
    }
    let start = |n: usize| ((n as f64 - n as f64 * fraction) / 2.0) as usize;
    let (y, x) = (start(height), start(width));
    Ok(Window { y, x, height: height - 2 * y, width: width - 2 * x })
}

/// `tf.image.resize_with_crop_or_pad`: which window is cut out, and where it is put in the new image.
#[must_use]
pub fn crop_or_pad(from: (usize, usize), to: (usize, usize)) -> (Window, (usize, usize)) {
    let cut = |n: usize, to: usize| n.saturating_sub(to) / 2;
    let (y, x) = (cut(from.0, to.0), cut(from.1, to.1));
    let window = Window { y, x, height: from.0.min(to.0), width: from.1.min(to.1) };
    (window, (cut(to.0, from.0), cut(to.1, from.1)))
}

/// `tf.image.resize_with_pad`: the size that the image is resized to, and where it is put in the new image.
#[must_use]
pub fn resize_with_pad(from: (usize, usize), to: (usize, usize)) -> ((usize, usize), (usize, usize)) {
    let ratio = (from.1 as f32 / to.1 as f32).max(from.0 as f32 / to.0 as f32);
    let resized = (from.0 as f32 / ratio, from.1 as f32 / ratio);
    let offset = |target: usize, resized: f32| ((target as f32 - resized) / 2.0).floor().max(0.0) as usize;
    (
        (resized.0.floor() as usize, resized.1.floor() as usize),
        (offset(to.0, resized.0), offset(to.1, resized.1)),
    )
}

/// The size of `tf.image.resize(.., preserve_aspect_ratio=True)` within `to`.
#[must_use]
pub fn preserve_aspect_ratio(from: (usize, usize), to: (usize, usize)) -> (usize, usize) {
    let scale = (to.0 as f32 / from.0 as f32).min(to.1 as f32 / from.1 as f32);
    let side = |n: usize| (scale * n as f32).round_ties_even() as usize;
    (side(from.0), side(from.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { height: 2, width: 3, channels: 2 };
    const IMAGE: [u8; 12] = [0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51];

    fn run(f: impl Fn(&mut [u8]) -> Result<()>, n: usize) -> Vec<u8> {
        let mut out = vec![99; n];
        f(&mut out).unwrap();
        out.chunks(2).map(|p| p[0]).collect()
    }

    #[test]
    fn moves() {
        assert_eq!(run(|d| flip_left_right(&IMAGE, SIZE, d), 12), [20, 10, 0, 50, 40, 30]);
        assert_eq!(run(|d| flip_up_down(&IMAGE, SIZE, d), 12), [30, 40, 50, 0, 10, 20]);
        assert_eq!(run(|d| transpose(&IMAGE, SIZE, d), 12), [0, 30, 10, 40, 20, 50]);
        assert_eq!(run(|d| rot90(&IMAGE, SIZE, 1, d), 12), [20, 50, 10, 40, 0, 30]);
        assert_eq!(run(|d| rot90(&IMAGE, SIZE, 2, d), 12), [50, 40, 30, 20, 10, 0]);
        assert_eq!(run(|d| rot90(&IMAGE, SIZE, -1, d), 12), [30, 0, 40, 10, 50, 20]);
        assert_eq!(run(|d| rot90(&IMAGE, SIZE, 4, d), 12), [0, 10, 20, 30, 40, 50]);
        assert_eq!(rot90_size(SIZE, 5), Size::new(3, 2, 2));
        assert!(rot90(&IMAGE, SIZE, 1, &mut [0; 11]).is_err());
    }

    #[test]
    fn crops_and_pads() {
        let window = Window { y: 1, x: 1, height: 1, width: 2 };
        assert_eq!(run(|d| crop(&IMAGE, SIZE, window, d), 4), [40, 50]);
        let outside = Window { y: 2, ..window };
        let error = crop(&IMAGE, SIZE, outside, &mut [0; 4]).unwrap_err().to_string();
        assert!(error.starts_with("height must be >= target + offset."), "{error}");
        assert_eq!(
            run(|d| pad(&IMAGE, SIZE, (1, 0), (3, 4), d), 24),
            [0, 0, 0, 0, 0, 10, 20, 0, 30, 40, 50, 0]
        );
        let error = pad(&IMAGE, SIZE, (2, 0), (3, 4), &mut [0; 24]).unwrap_err().to_string();
        assert!(error.starts_with("height must be <= target - offset"), "{error}");
    }

    #[test]
    fn arithmetic() {
        assert_eq!(central_crop(9, 13, 0.5).unwrap(), Window { y: 2, x: 3, height: 5, width: 7 });
        assert_eq!(central_crop(9, 13, 0.33).unwrap(), Window { y: 3, x: 4, height: 3, width: 5 });
        assert!(central_crop(9, 13, 0.0).is_err());
        assert!(central_crop(9, 13, f64::NAN).is_err());
        assert_eq!(crop_or_pad((9, 13), (4, 16)), (Window { y: 2, x: 0, height: 4, width: 13 }, (0, 1)));
        assert_eq!(resize_with_pad((9, 13), (20, 20)), ((13, 20), (3, 0)));
        assert_eq!(preserve_aspect_ratio((9, 13), (20, 20)), (14, 20));
        assert_eq!(preserve_aspect_ratio((9, 13), (5, 20)), (5, 7));
        assert_eq!(preserve_aspect_ratio((331, 500), (192, 192)), (127, 192));
    }
}
