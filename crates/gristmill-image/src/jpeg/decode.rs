//! Decoding.

use super::{ffi, own};
use crate::output::slot;
use crate::{Error, MAX_SAMPLES, Output, Result};

/// The inverse DCT that a JPEG is decoded with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DctMethod {
    /// TensorFlow's default (`''`), which is [`DctMethod::IntegerFast`].
    #[default]
    Default,
    /// `INTEGER_FAST`: up to some levels away from the exact result.
    IntegerFast,
    /// `INTEGER_ACCURATE`: what most other programs use.
    IntegerAccurate,
}

impl DctMethod {
    /// The method of TensorFlow's name: `""`, `"INTEGER_FAST"` or `"INTEGER_ACCURATE"`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "" => Ok(Self::Default),
            "INTEGER_FAST" => Ok(Self::IntegerFast),
            "INTEGER_ACCURATE" => Ok(Self::IntegerAccurate),
            _ => Err(Error::invalid(format!(
                "dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}, got '{name}'"
            ))),
        }
    }
}

/// The part of an image that is wanted, in pixels of the output (after `ratio`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crop {
    /// First row.
    pub y: i32,
    /// First column.
    pub x: i32,
    /// Number of rows.
    pub height: i32,
    /// Number of columns.
    pub width: i32,
}

/// How a JPEG is decoded; the defaults are `tf.io.decode_jpeg`'s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JpegOptions<'a> {
    /// Channels of the result: 0 (as in the file, four become three), 1 (grey) or 3 (RGB).
    pub channels: u32,
    /// The image is made smaller by 1, 2, 4 or 8 while it is decoded.
    pub ratio: u32,
    /// Smooth instead of plain enlarging of the colour planes.
    pub fancy_upscaling: bool,
    /// A file that ends early is decoded as far as it goes instead of being an error.
    pub try_recover_truncated: bool,
    /// The share of the rows that has to be readable in a damaged file; the others are 0. From 1 on, all.
    pub acceptable_fraction: f32,
    /// The inverse DCT.
    pub dct_method: DctMethod,
    /// Only this part.
    pub crop: Option<Crop>,
    /// What [`restart_index`](super::restart_index) gave for the file, so that less of it has to be read for a part. Other
    /// bytes, also those for another file, are ignored; pixels are the same with and without it.
    pub restart_index: Option<&'a [u8]>,
}

impl Default for JpegOptions<'_> {
    fn default() -> Self {
        Self {
            channels: 0,
            ratio: 1,
            fancy_upscaling: true,
            try_recover_truncated: false,
            acceptable_fraction: 1.0,
            dct_method: DctMethod::Default,
            crop: None,
            restart_index: None,
        }
    }
}

impl JpegOptions<'_> {
    /// Checks what does not depend on the file.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for channels or a ratio that JPEG does not have.
    pub fn check(&self) -> Result<()> {
        match self.channels {
            0 | 1 | 3 => {}
            4 => {
                return Err(Error::invalid("JPEG does not support 4 channels; use 0, 1 or 3"));
            }
            n => {
                return Err(Error::invalid(format!("`channels` must be 0, 1, 3 or 4 but got {n}")));
            }
        }
        if !matches!(self.ratio, 1 | 2 | 4 | 8) {
            return Err(Error::invalid(format!("ratio must be 1, 2, 4, or 8, got {}", self.ratio)));
        }
        Ok(())
    }

    pub(super) fn raw(&self) -> ffi::DecodeOptions {
        let crop = self.crop.unwrap_or(Crop { y: 0, x: 0, height: 0, width: 0 });
        ffi::DecodeOptions {
            channels: self.channels as i32,
            ratio: self.ratio as i32,
            fancy_upscaling: self.fancy_upscaling.into(),
            recover: self.try_recover_truncated.into(),
            accurate_dct: (self.dct_method == DctMethod::IntegerAccurate).into(),
            crop: self.crop.is_some().into(),
            crop_y: crop.y,
            crop_x: crop.x,
            crop_height: crop.height,
            crop_width: crop.width,
            exact: 0,
            limit: MAX_SAMPLES as i64,
        }
    }
}

fn failed(contents: &[u8], failure: ffi::Failure) -> Error {
    let why = match failure {
        ffi::Failure::Library(message) => message,
        ffi::Failure::Channels => "the file's number of channels is neither 1 nor at least 3".to_owned(),
        ffi::Failure::Size => {
            format!("height * width * channels must be above 0 and below {MAX_SAMPLES}")
        }
        ffi::Failure::Crop => "the crop window must not be empty and must lie inside the image".to_owned(),
        ffi::Failure::Memory => "out of memory".to_owned(),
    };
    Error::invalid(format!(
        "jpeg::Uncompress failed. Invalid JPEG data or crop window. {why} (size {})",
        contents.len()
    ))
}

/// Decodes a JPEG into the `[height, width, channels]` slot of `output`; values as `tf.io.decode_jpeg` and
/// `tf.io.decode_and_crop_jpeg`.
///
/// An Exif orientation is ignored. CMYK becomes RGB by `c * k / 255` on inverted values, rounded down.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the file is damaged, too short (unless
/// [`try_recover_truncated`](JpegOptions::try_recover_truncated) or
/// [`acceptable_fraction`](JpegOptions::acceptable_fraction) let it pass), declares [`MAX_SAMPLES`] or more, or does
/// not suit the options; what `output` says.
pub fn decode(
    contents: &[u8],
    options: &JpegOptions<'_>,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<()> {
    options.check()?;
    if own::decode(contents, options.restart_index, own::options(options), output)? {
        return Ok(());
    }
    own::left();
    decode_with_libjpeg(contents, options, output)
}

/// [`decode`], always by libjpeg-turbo: the yardstick of tests and benchmarks.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_with_libjpeg(
    contents: &[u8],
    options: &JpegOptions<'_>,
    output: &mut (impl Output<u8> + ?Sized),
) -> Result<()> {
    options.check()?;
    let (decoder, shape) = ffi::Decoder::start(contents, &options.raw()).map_err(|f| failed(contents, f))?;
    let shape = shape.map(|n| n as usize);
    let pixels = slot(output, &shape)?;
    let rows = decoder.read(pixels).map_err(|f| failed(contents, f))? as usize;
    if rows < shape[0] {
        if (rows as f32 / shape[0] as f32) < options.acceptable_fraction.min(1.0) {
            let why = format!("the data end after {rows} of {} rows", shape[0]);
            return Err(failed(contents, ffi::Failure::Library(why)));
        }
        pixels[rows * shape[1] * shape[2]..].fill(0);
    }
    Ok(())
}

/// Height, width and channels (4 for CMYK) from the header alone, as `tf.image.extract_jpeg_shape`.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when there is no readable header.
pub fn shape(contents: &[u8]) -> Result<[usize; 3]> {
    if let Some(shape) = own::shape(contents) {
        return Ok(shape);
    }
    ffi::Decoder::new(contents).and_then(ffi::Decoder::shape).map(|shape| shape.map(|n| n as usize)).map_err(
        |failure| match failure {
            ffi::Failure::Library(why) => {
                Error::invalid(format!("Invalid JPEG data, size {}: {why}", contents.len()))
            }
            other => failed(contents, other),
        },
    )
}
