//! Cutting a window out of images and putting it into others.

use super::common::Images;
use gristmill_image::geometry::Window;
use gristmill_plan::Outs;
use gristmill_types::{Error, Result, Tensor};

/// Output 0: images of height and width `to` that show `window` of the input at (row, column) `at`
/// and 0 elsewhere. The window lies inside the input and, put there, inside the output.
pub(crate) fn place(
    t: &Tensor,
    images: Images,
    window: Window,
    at: (usize, usize),
    to: (usize, usize),
    out: &mut Outs<'_>,
) -> Result<()> {
    if !t.dtype().is_plain() {
        return Err(Error::invalid("an image must hold numbers, found string"));
    }
    let pixel = images.size.channels * t.dtype().size();
    let shape = images.shape(to.0, to.1, images.size.channels)?;
    let dst = out.plain(0, t.dtype(), shape);
    let (from_row, to_row) = (images.size.width * pixel, to.1 * pixel);
    let n = window.width * pixel;
    images.each(t.bytes(), dst, |src, dst| {
        if (window.height, window.width) != to {
            dst.fill(0);
        }
        for y in 0..window.height {
            let from = (window.y + y) * from_row + window.x * pixel;
            let into = (at.0 + y) * to_row + at.1 * pixel;
            dst[into..into + n].copy_from_slice(&src[from..from + n]);
        }
        Ok(())
    })
}

/// A length that must be positive, within what TensorFlow's int32 sizes allow.
pub(crate) fn positive(value: i64, name: &str) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|&n| n > 0 && n <= i32::MAX as usize)
        .ok_or_else(|| Error::invalid(format!("{name} must be > 0, found {value}")))
}

/// An offset that must not be negative.
pub(crate) fn offset(value: i64, name: &str) -> Result<usize> {
    usize::try_from(value)
        .ok()
        .filter(|&n| n <= i32::MAX as usize)
        .ok_or_else(|| Error::invalid(format!("{name} must be >= 0, found {value}")))
}
