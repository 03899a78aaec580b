//! WebP, still and animated, as TensorFlow has libwebp decode it (`tensorflow/core/lib/webp/webp_io.cc`).

mod animation;
mod container;
#[cfg(test)]
mod tests;

use std::io::Cursor;

use image_webp::WebPDecoder;

use crate::output::slot;
use crate::{Error, MAX_SAMPLES, Output, Result};
use animation::Canvas;
use container::{File, Frame, Picture, Size, frames};

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], payload: &[u8]) {
    file.extend_from_slice(name);
    // Payloads are parts of contents shorter than 2^31 bytes.
    file.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    file.extend_from_slice(payload);
    file.resize(file.len().next_multiple_of(2), 0);
}

/// A file that holds this picture alone.
fn still(picture: &Picture<'_>) -> Vec<u8> {
    let mut file = b"RIFF\0\0\0\0WEBP".to_vec();
    if let Some(alpha) = picture.alpha {
        let mut header = [0; 10];
        header[0] = 16;
        header[4..7].copy_from_slice(&(picture.size.0 as u32 - 1).to_le_bytes()[..3]);
        header[7..].copy_from_slice(&(picture.size.1 as u32 - 1).to_le_bytes()[..3]);
        chunk(&mut file, b"VP8X", &header);
        chunk(&mut file, b"ALPH", alpha);
    }
    chunk(&mut file, if picture.lossless { b"VP8L" } else { b"VP8 " }, picture.bitstream);
    let size = file.len() as u32 - 8;
    file[4..8].copy_from_slice(&size.to_le_bytes());
    file
}

/// Decodes into `out`, which has 3 or 4 channels; in the latter case what has no alpha is opaque.
fn pixels(picture: &Picture<'_>, out: &mut [u8]) -> std::result::Result<(), String> {
    if !picture.whole {
        return Err("the data end too early".into());
    }
    let file = still(picture);
    let mut decoder = WebPDecoder::new(Cursor::new(&file[..])).map_err(|e| e.to_string())?;
    let (width, height) = decoder.dimensions();
    if (width as usize, height as usize) != picture.size {
        return Err("its parts are of different sizes".into());
    }
    let area = picture.size.0 * picture.size.1;
    if decoder.output_buffer_size() == Some(out.len()) {
        return decoder.read_image(out).map_err(|e| e.to_string());
    }
    let mut rgb = vec![0; area * 3];
    decoder.read_image(&mut rgb).map_err(|e| e.to_string())?;
    for (rgb, out) in rgb.chunks_exact(3).zip(out.chunks_exact_mut(4)) {
        out[..3].copy_from_slice(rgb);
        out[3] = 255;
    }
    Ok(())
}

fn check_samples(contents: &[u8], frames: usize, (width, height): Size, channels: usize) -> Result<()> {
    let samples = [width, height, channels].iter().fold(frames as u64, |n, &m| n.saturating_mul(m as u64));
    if samples < MAX_SAMPLES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "WebP image too large (size {}): {frames} frames of {height} x {width} with {channels} channels must have \
         fewer than {MAX_SAMPLES} samples",
        contents.len()
    )))
}

fn failed(what: &str, why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("Failed to decode WebP {what}: {why}"))
}

/// Decodes a WebP as `tf.io.decode_image`: 3 or, with transparency, 4 channels; an animation always has 4.
///
/// `channels` is 0 or the number that the file has. The output is asked for `[frames, height, width, channels]`, or
/// for `[height, width, channels]` of the first frame when `expand_animations` is false.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the file is damaged or cut off, has another number of channels, or the result
/// would have [`MAX_SAMPLES`] samples or more; what `output` says.
pub fn decode(
    contents: &[u8],
    channels: u32,
    expand_animations: bool,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<()> {
    if !matches!(channels, 0 | 3 | 4) {
        return Err(Error::invalid(format!("WebP only supports 3 or 4 channels, got {channels}")));
    }
    let file = File::read(contents)
        .ok_or_else(|| failed("header.", "the container or the start of the image is damaged"))?;
    let own = match &file {
        File::Still(picture) if !picture.has_alpha => 3,
        _ => 4,
    };
    if channels != 0 && channels as usize != own {
        return Err(match file {
            File::Still(_) => Error::invalid(format!(
                "Number of channels requested does not match input: {channels} requested, {own} in the file"
            )),
            File::Animated(..) => {
                Error::invalid(format!("WebP Animation must be 4 channel RGBA, got {channels}"))
            }
        });
    }
    match file {
        File::Still(picture) => {
            let (width, height) = picture.size;
            check_samples(contents, 1, picture.size, own)?;
            let shape = [1, height, width, own];
            let out = slot(output, if expand_animations { &shape } else { &shape[1..] })?;
            pixels(&picture, out).map_err(|why| failed("image.", why))
        }
        File::Animated(size, chunks) => {
            let mut frames = frames(size, chunks)
                .ok_or_else(|| failed("Animation", "frames are missing, damaged or outside of the canvas"))?;
            if !expand_animations {
                frames.truncate(1);
            }
            check_samples(contents, frames.len(), size, own)?;
            let shape = [frames.len(), size.1, size.0, own];
            let out = slot(output, if expand_animations { &shape } else { &shape[1..] })?;
            animate(&frames, size, out)
        }
    }
}

fn animate(frames: &[Frame<'_>], size: Size, out: &mut [u8]) -> Result<()> {
    let mut canvas = Canvas::new(size);
    let mut rgba = Vec::new();
    for (k, (frame, out)) in frames.iter().zip(out.chunks_exact_mut(size.0 * size.1 * 4)).enumerate() {
        rgba.resize(frame.picture.size.0 * frame.picture.size.1 * 4, 0);
        pixels(&frame.picture, &mut rgba)
            .map_err(|why| failed("Animation", format_args!("failed to decode frame: {k}: {why}")))?;
        canvas.draw(frame, &rgba, out);
    }
    Ok(())
}
