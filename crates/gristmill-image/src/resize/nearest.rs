//! Nearest neighbour (`tensorflow/core/kernels/image/resize_nearest_neighbor_op.cc`, half-pixel centres).

use super::{Size, check, step};
use crate::Result;

/// Resizes to `to` (height, width) by taking pixel `floor((i + 0.5) * from / to)`.
///
/// Samples are only moved, so images are bytes here and `from.channels` is the number of bytes a pixel.
///
/// # Errors
///
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when a size is 0 or does not fit its slice.
pub fn resize_nearest(src: &[u8], from: Size, dst: &mut [u8], to: (usize, usize)) -> Result<()> {
    check(src.len(), from, dst.len(), to)?;
    let Size { height, width, channels: pixel } = from;
    let (rows, columns) = (step(height, to.0), step(width, to.1));
    let index = |i: usize, scale: f32, n: usize| (((i as f32 + 0.5) * scale).floor() as usize).min(n - 1);
    let mut before = None;
    let row_bytes = to.1 * pixel;
    for y in 0..to.0 {
        let from_row = index(y, rows, height);
        let (done, rest) = dst.split_at_mut(y * row_bytes);
        let out = &mut rest[..row_bytes];
        if before == Some(from_row) {
            out.copy_from_slice(&done[done.len() - row_bytes..]);
            continue;
        }
        before = Some(from_row);
        let row = &src[from_row * width * pixel..(from_row + 1) * width * pixel];
        for (x, out) in out.chunks_exact_mut(pixel).enumerate() {
            let at = index(x, columns, width) * pixel;
            out.copy_from_slice(&row[at..at + pixel]);
        }
    }
    Ok(())
}
