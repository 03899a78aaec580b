//! GIF, with the frames put together as TensorFlow does (`tensorflow/core/lib/gif/gif_io.cc`).

use std::io::Cursor;

use crate::output::slot;
use crate::{Error, MAX_SAMPLES, Output, Result};

/// One decoded sub-image: colour indices and where they go.
struct Frame {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    transparent: Option<u8>,
    indices: Vec<u8>,
    palette: Vec<u8>,
}

fn invalid(contents: &[u8], why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("Invalid GIF data (size {}), {why}", contents.len()))
}

/// All frames, or the first `limit`. A file damaged after its first frame gives the frames before the damage.
fn frames(contents: &[u8], limit: usize) -> Result<Vec<Frame>> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::Indexed);
    options.set_memory_limit(gif::MemoryLimit::Bytes(MAX_SAMPLES.try_into().expect("2^29 is not 0")));
    options.allow_unknown_blocks(true);
    let mut decoder = options
        .read_info(Cursor::new(contents))
        .map_err(|e| invalid(contents, format_args!("failed to open gif file: {e}")))?;
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let mut frames = Vec::new();
    let mut held = 0u64;
    while frames.len() < limit {
        let frame = match decoder.read_next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(e) if frames.is_empty() => {
                return Err(invalid(contents, format_args!("failed to slurp gif file: {e}")));
            }
            Err(_) => break,
        };
        let Some(palette) = frame.palette.clone().or_else(|| global.clone()) else {
            return Err(invalid(contents, format_args!("missing color map for frame {}", frames.len())));
        };
        held += frame.buffer.len() as u64 + 1024;
        if held >= MAX_SAMPLES {
            return Err(invalid(contents, format_args!("its frames have {MAX_SAMPLES} pixels or more")));
        }
        frames.push(Frame {
            left: frame.left.into(),
            top: frame.top.into(),
            width: frame.width.into(),
            height: frame.height.into(),
            transparent: frame.transparent,
            indices: frame.buffer.to_vec(),
            palette,
        });
    }
    if frames.is_empty() {
        return Err(invalid(contents, "gif file does not contain any image"));
    }
    Ok(frames)
}

/// Draws frame number `k` over what `canvas` holds.
fn draw(
    contents: &[u8],
    k: usize,
    frame: &Frame,
    canvas: &mut [u8],
    height: usize,
    width: usize,
) -> Result<()> {
    let colours = frame.palette.len() / 3;
    let columns = frame.width.min(width.saturating_sub(frame.left));
    if columns == 0 {
        return Ok(());
    }
    let rows = frame.indices.chunks_exact(frame.width);
    for (y, row) in rows.enumerate().take(height.saturating_sub(frame.top)) {
        let at = ((frame.top + y) * width + frame.left) * 3;
        let out = canvas[at..at + columns * 3].chunks_exact_mut(3);
        for (&index, out) in row.iter().zip(out) {
            if Some(index) == frame.transparent {
                if k == 0 {
                    out.fill(0);
                }
                continue;
            }
            let colour = usize::from(index) * 3;
            let Some(rgb) = frame.palette.get(colour..colour + 3) else {
                return Err(invalid(
                    contents,
                    format_args!("found color index {index} outside of color map range {colours}"),
                ));
            };
            out.copy_from_slice(rgb);
        }
    }
    Ok(())
}

/// Decodes a GIF to RGB as `tf.io.decode_gif`. The canvas has the size of the largest frame; every frame is drawn over
/// the one before, whatever its disposal method says.
///
/// `shape_of(frames, height, width)` says which shape the output is asked for, or refuses. When `expand_animations` is
/// false only the first frame is drawn and counted.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when not even one frame can be read, a colour is outside of its palette, or the result
/// would have [`MAX_SAMPLES`] samples or more; what `shape_of` and `output` say.
pub fn decode(
    contents: &[u8],
    expand_animations: bool,
    shape_of: impl FnOnce(usize, usize, usize) -> Result<Vec<usize>>,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<()> {
    let frames = frames(contents, usize::MAX)?;
    let height = frames.iter().map(|f| f.height).max().unwrap_or(0);
    let width = frames.iter().map(|f| f.width).max().unwrap_or(0);
    let count = if expand_animations { frames.len() } else { 1 };
    let samples = (height * width * 3) as u64 * count as u64;
    if samples == 0 || samples >= MAX_SAMPLES {
        return Err(invalid(
            contents,
            format_args!(
                "{count} frames of {height} x {width} must have samples, and fewer than {MAX_SAMPLES}"
            ),
        ));
    }
    let shape = shape_of(count, height, width)?;
    let pixels = slot(output, &shape)?;
    let size = height * width * 3;
    for (k, frame) in frames.iter().take(count).enumerate() {
        let (before, rest) = pixels.split_at_mut(k * size);
        let canvas = &mut rest[..size];
        if k == 0 {
            canvas.fill(0);
        } else {
            canvas.copy_from_slice(&before[(k - 1) * size..]);
        }
        draw(contents, k, frame, canvas, height, width)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Image;

    fn file(frames: &[(u16, u16, u16, u16, Option<u8>, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = gif::Encoder::new(&mut bytes, 3, 2, &[1, 2, 3, 10, 20, 30, 100, 200, 250]).unwrap();
        for &(left, top, width, height, transparent, indices) in frames {
            let frame = gif::Frame {
                left,
                top,
                width,
                height,
                transparent,
                buffer: indices.into(),
                ..Default::default()
            };
            encoder.write_frame(&frame).unwrap();
        }
        drop(encoder);
        bytes
    }

    fn decoded(contents: &[u8], expand: bool) -> Result<Image<u8>> {
        let mut image = Image::default();
        decode(contents, expand, |n, h, w| Ok(vec![n, h, w, 3]), &mut image)?;
        Ok(image)
    }

    #[test]
    fn frames_are_drawn_over_each_other() {
        let whole: &[u8] = &[0, 1, 2, 2, 1, 0];
        let bytes = file(&[(0, 0, 3, 2, None, whole), (1, 1, 2, 1, Some(2), &[2, 1])]);
        let image = decoded(&bytes, true).unwrap();
        assert_eq!(image.shape, [2, 2, 3, 3]);
        assert_eq!(image.data[..9], [1, 2, 3, 10, 20, 30, 100, 200, 250]);
        assert_eq!(image.data[18..27], image.data[..9], "the second frame keeps what it does not cover");
        assert_eq!(image.data[27..36], [100, 200, 250, 10, 20, 30, 10, 20, 30]);
        assert_eq!(decoded(&bytes, false).unwrap().data, image.data[..18]);
    }

    #[test]
    fn transparent_in_the_first_frame_is_black() {
        let image = decoded(&file(&[(0, 0, 2, 1, Some(1), &[1, 2])]), true).unwrap();
        assert_eq!((image.shape, image.data), (vec![1, 1, 2, 3], vec![0, 0, 0, 100, 200, 250]));
    }

    #[test]
    fn errors() {
        assert!(decoded(b"GIF89a", true).unwrap_err().to_string().contains("Invalid GIF data (size 6)"));
        let bytes = file(&[(0, 0, 3, 2, None, &[0, 1, 2, 2, 1, 7])]);
        assert!(decoded(&bytes, true).unwrap_err().to_string().contains("found color index 7"));
    }
}
