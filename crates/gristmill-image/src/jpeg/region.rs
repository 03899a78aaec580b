//! A window of a JPEG with the pixels that decoding the whole and cutting it out would give.
//!
//! This is the seam behind which a decoder may hand over just the part that is read: everything above asks for a
//! window and gets those pixels, or the error of the whole.

use super::decode::{JpegOptions, decode};
use super::{Crop, ffi, own};
use crate::geometry::Window;
use crate::output::slot;
use crate::{Error, Image, Output, Result};

/// Height, width and channels of what [`decode`] would give, from the header alone.
///
/// # Errors
///
/// As [`decode`] as far as the header tells: no header, options that do not suit the file, too many pixels.
pub fn output_shape(contents: &[u8], options: &JpegOptions<'_>) -> Result<[usize; 3]> {
    options.check()?;
    let [height, width, components] = super::shape(contents)?;
    let channels = match (options.channels, components) {
        (0, n @ (1 | 2)) => n,
        (0, _) => 3,
        (n, _) => n as usize,
    };
    let side = |n: usize| n.div_ceil(options.ratio as usize);
    let samples = (side(height) as u64) * (side(width) as u64) * (components.max(1) as u64);
    if samples == 0 || samples >= crate::MAX_SAMPLES || !matches!(channels, 1 | 3) {
        return Err(Error::invalid("the header declares an image that cannot be decoded"));
    }
    Ok([side(height), side(width), channels])
}

/// Decodes `window` of a JPEG into the `[height, width, channels]` slot of `output`: the pixels of [`decode`] with the
/// same options and no crop, for little more than the work that they take. Rows and columns outside are passed over,
/// but for one on each side, which smooth enlarging of the colour planes looks at.
///
/// `output` may be asked for its slot twice, with the same shape.
///
/// # Errors
///
/// Those of [`decode`]: a file that fails there fails here, also where the damage lies outside of the window.
/// [`Error::InvalidArgument`] for a window that does not lie inside, or an option `crop`.
pub fn decode_region(
    contents: &[u8],
    options: &JpegOptions<'_>,
    window: Window,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<()> {
    options.check()?;
    if options.crop.is_some() {
        return Err(Error::invalid("a window and a crop exclude each other"));
    }
    if own::decode(contents, options.restart_index, own::in_window(options, window), output)? {
        return Ok(());
    }
    own::left();
    match region(contents, options, window, output)? {
        true => Ok(()),
        // Damage, or something that only decoding the whole can judge.
        false => cut(contents, options, window, output),
    }
}

/// How many rows are decoded before they are handed over: few enough to stay in cache.
const BAND: usize = 16;

/// Decodes into bands of whole rows, from top to bottom, and hands each to `sink` with the number of its first row:
/// those of `window` as [`decode_region`] gives them, or without a window those of [`decode`]. `band` is working
/// memory. How many rows a band has is the decoder's choice.
///
/// A file that is damaged may be found out after rows were handed over; they mean nothing then.
///
/// # Errors
///
/// What `sink` says. [`Error::InvalidArgument`] where the file does not decode in one go: [`decode_region`] or
/// [`decode`] then tell why, or make do.
pub fn decode_rows(
    contents: &[u8],
    options: &JpegOptions<'_>,
    window: Option<Window>,
    band: &mut Vec<u8>,
    sink: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
) -> Result<()> {
    let damaged = || Error::invalid("Invalid JPEG data or crop window");
    options.check()?;
    let ours = window.map_or_else(|| own::options(options), |window| own::in_window(options, window));
    if let Some(done) = own::decode_rows(contents, options.restart_index, ours, sink, damaged) {
        return done;
    }
    own::left();
    let raw = match window {
        None => options.raw(),
        Some(window) => in_window(options, window).ok_or_else(damaged)?,
    };
    let (decoder, shape) = ffi::Decoder::start(contents, &raw).map_err(|_| damaged())?;
    let mut bands = ffi::Bands::new(decoder, shape);
    let [height, width, channels] = shape.map(|n| n as usize);
    let row = width * channels;
    band.resize(BAND.min(height) * row, 0);
    for first in (0..height).step_by(BAND) {
        let rows = &mut band[..BAND.min(height - first) * row];
        bands.next(rows).map_err(|_| damaged())?;
        sink(first, rows)?;
    }
    bands.end().map_err(|_| damaged())
}

/// The options for a window with the pixels of the whole.
fn in_window(options: &JpegOptions<'_>, window: Window) -> Option<ffi::DecodeOptions> {
    let sides = [window.y, window.x, window.height, window.width].map(i32::try_from);
    let [Ok(y), Ok(x), Ok(height), Ok(width)] = sides else { return None };
    let crop = Some(Crop { y, x, height, width });
    Some(ffi::DecodeOptions { exact: 1, ..JpegOptions { crop, ..*options }.raw() })
}

/// The window by partial decoding; false where that did not work out.
fn region(
    contents: &[u8],
    options: &JpegOptions<'_>,
    window: Window,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<bool> {
    let Some(raw) = in_window(options, window) else { return Ok(false) };
    let Ok((decoder, shape)) = ffi::Decoder::start(contents, &raw) else { return Ok(false) };
    let pixels = slot(output, &shape.map(|n| n as usize))?;
    Ok(decoder.read(pixels).is_ok_and(|rows| rows == shape[0]))
}

/// The window cut out of the whole.
fn cut(
    contents: &[u8],
    options: &JpegOptions<'_>,
    window: Window,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<()> {
    let mut whole = Image::default();
    decode(contents, options, &mut whole)?;
    let &[height, width, channels] = whole.shape.as_slice() else {
        return Err(Error::invalid("a JPEG is one image"));
    };
    if !window.fits(height, width) {
        return Err(Error::invalid(format!(
            "the window {window:?} must not be empty and must lie inside the image of {height} x {width}"
        )));
    }
    let pixels = slot(output, &[window.height, window.width, channels])?;
    let row = window.width * channels;
    for (y, to) in pixels.chunks_exact_mut(row).enumerate() {
        let at = ((window.y + y) * width + window.x) * channels;
        to.copy_from_slice(&whole.data[at..at + row]);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
