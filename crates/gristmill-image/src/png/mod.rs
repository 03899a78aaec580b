//! PNG, converted to the wanted channels and depth as TensorFlow has libpng do (`tensorflow/core/lib/png/png_io.cc`).

mod gamma;
mod pixels;

use std::io::Cursor;

use png::{BitDepth, ColorType, Transformations};

use crate::output::slot;
use crate::{Error, MAX_SAMPLES, Output, Result};
pub use pixels::Sample;
use pixels::Source;

/// Deflate makes at most 1032 bytes out of one, so a file that declares more than this many times its length is
/// refused before memory is asked for.
const MAX_INFLATION: u64 = 1040;

fn invalid(contents: &[u8], why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("Invalid PNG data, size {}: {why}", contents.len()))
}

/// Decodes a PNG into the `[height, width, channels]` slot of `output`, as `tf.io.decode_png` with dtype `uint8` or
/// `uint16`.
///
/// `channels` is 0 (as in the file, a palette becoming 3 or 4), 1, 2, 3 or 4. From 16 to 8 bits the high byte is kept;
/// from 8 to 16 bits values are multiplied by 257.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the file is damaged or cut off, declares [`MAX_SAMPLES`] samples or more, or
/// `channels` is above 4; what `output` says.
pub fn decode<T: Sample>(
    contents: &[u8],
    channels: u32,
    output: &mut (impl Output<T> + ?Sized),
) -> Result<()> {
    if channels > 4 {
        return Err(Error::invalid(format!("`channels` must be 0, 1, 3 or 4 but got {channels}")));
    }
    let limits = png::Limits { bytes: MAX_SAMPLES as usize };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(contents), limits);
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder
        .read_info()
        .map_err(|e| Error::invalid(format!("Invalid PNG. Failed to initialize decoder. {e}")))?;

    let source = Source::new(reader.info(), T::BITS, channels);
    let (width, height) = (source.width, source.height);
    let to = if channels == 0 { source.own_channels() } else { channels as usize };
    let samples = (width as u64 * height as u64).saturating_mul(to as u64);
    if samples >= MAX_SAMPLES {
        return Err(Error::invalid(format!("PNG size too large for int: {width} by {height}")));
    }
    let raw = reader
        .output_buffer_size()
        .filter(|&raw| raw as u64 / MAX_INFLATION <= contents.len() as u64)
        .ok_or_else(|| {
            invalid(contents, format_args!("{width} x {height} pixels can't be in a file of this size"))
        })?;

    let pixels = slot(output, &[height, width, to])?;
    if let Some(bytes) = T::bytes(pixels).filter(|_| source.is_plain(to)) {
        reader.next_frame(bytes).map_err(|e| invalid(contents, e))?;
    } else {
        let mut rows = vec![0; raw];
        reader.next_frame(&mut rows).map_err(|e| invalid(contents, e))?;
        let row_bytes = raw / height;
        let mut scratch = vec![[0; 4]; width];
        for (row, out) in rows.chunks_exact(row_bytes).zip(pixels.chunks_exact_mut(width * to)) {
            source.expand(row, &mut scratch);
            source.convert(&scratch, out, to);
        }
    }
    reader.finish().map_err(|e| invalid(contents, e))
}

/// Encodes `pixels` (`height x width x channels`, 1 to 4 channels of 8 or 16 bits) as `tf.io.encode_png` does; the
/// pixels are the same, the compressed bytes need not be. `compression` is -1 (default) or 0 to 9.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when shape, size of `pixels` or `compression` do not fit.
pub fn encode<T: Sample>(
    pixels: &[T],
    height: usize,
    width: usize,
    channels: usize,
    compression: i32,
) -> Result<Vec<u8>> {
    let color = match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        _ => {
            return Err(Error::invalid(format!(
                "image must have 1, 2, 3, or 4 channels, got [{height},{width},{channels}]"
            )));
        }
    };
    if !(-1..=9).contains(&compression) {
        return Err(Error::invalid(format!("compression must be in [-1,9], got {compression}")));
    }
    let failed = |why: &dyn std::fmt::Display| {
        Error::invalid(format!("PNG encoding failed: {why} (shape [{height},{width},{channels}])"))
    };
    let count = height.checked_mul(width).and_then(|n| n.checked_mul(channels));
    if count != Some(pixels.len()) {
        return Err(failed(&format_args!("found {} samples", pixels.len())));
    }
    let (Ok(w), Ok(h)) = (u32::try_from(width), u32::try_from(height)) else {
        return Err(failed(&"a side is above 2^32"));
    };
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, w, h);
    encoder.set_color(color);
    encoder.set_depth(if T::BITS == 8 { BitDepth::Eight } else { BitDepth::Sixteen });
    // zlib's default is level 6.
    let level = u8::try_from(compression).unwrap_or(6);
    encoder.set_deflate_compression(png::DeflateCompression::Level(level));
    let write = |encoder: png::Encoder<'_, &mut Vec<u8>>| {
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&T::big_endian(pixels))?;
        writer.finish()
    };
    write(encoder).map_err(|e| failed(&e))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
