//! Encoding.

use super::ffi;
use crate::{Error, MAX_SAMPLES, Result};

/// The channels that the encoder is to expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncodeFormat {
    /// `''`: 1 or 3, whatever the image has.
    #[default]
    Auto,
    /// `'grayscale'`: 1.
    Grayscale,
    /// `'rgb'`: 3.
    Rgb,
}

/// The unit of the pixel density in the JFIF header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DensityUnit {
    /// `'in'`: pixels per inch.
    #[default]
    Inch,
    /// `'cm'`: pixels per centimetre.
    Centimetre,
}

/// How a JPEG is encoded; the defaults are `tf.io.encode_jpeg`'s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Which channels to expect.
    pub format: EncodeFormat,
    /// 0 to 100.
    pub quality: i32,
    /// Several scans, from coarse to fine.
    pub progressive: bool,
    /// Huffman tables made for this image.
    pub optimize_size: bool,
    /// Half the colour resolution in both directions (4:2:0).
    pub chroma_downsampling: bool,
    /// Unit of the two densities.
    pub density_unit: DensityUnit,
    /// Horizontal pixel density.
    pub x_density: u16,
    /// Vertical pixel density.
    pub y_density: u16,
    /// Embedded XMP metadata; none when empty.
    pub xmp_metadata: Vec<u8>,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            format: EncodeFormat::Auto,
            quality: 95,
            progressive: false,
            optimize_size: false,
            chroma_downsampling: true,
            density_unit: DensityUnit::Inch,
            x_density: 300,
            y_density: 300,
            xmp_metadata: Vec::new(),
        }
    }
}

/// Encodes `pixels` (`height x width x channels`); the bytes are those of `tf.io.encode_jpeg`.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when `pixels` has not that size, channels or quality are not possible, the image is empty
/// or has [`MAX_SAMPLES`] pixels or more, a side is above 65500, or the metadata do not fit into a segment.
pub fn encode(
    pixels: &[u8],
    height: usize,
    width: usize,
    channels: usize,
    options: &EncodeOptions,
) -> Result<Vec<u8>> {
    let shape = || format!("[{height},{width},{channels}]");
    match (options.format, channels) {
        (EncodeFormat::Auto, 1 | 3) | (EncodeFormat::Grayscale, 1) | (EncodeFormat::Rgb, 3) => {}
        (EncodeFormat::Auto, _) => {
            return Err(Error::invalid(format!("image must have 1 or 3 channels, got {}", shape())));
        }
        (EncodeFormat::Grayscale, _) => {
            return Err(Error::invalid(format!("format grayscale expects 1 channel, got {}", shape())));
        }
        (EncodeFormat::Rgb, _) => {
            return Err(Error::invalid(format!("format rgb expects 3 channels, got {}", shape())));
        }
    }
    if !(0..=100).contains(&options.quality) {
        return Err(Error::invalid(format!("quality must be in [0,100], got {}", options.quality)));
    }
    let failed = |why: &str| Error::invalid(format!("JPEG encoding failed: {why} (shape {})", shape()));
    let count = (height as u64).checked_mul(width as u64).filter(|&n| n > 0 && n < MAX_SAMPLES);
    if count.is_none() {
        return Err(failed("height * width must be above 0 and below 2^29"));
    }
    if pixels.len() != height * width * channels {
        return Err(failed(&format!("expected {} bytes, found {}", height * width * channels, pixels.len())));
    }
    let raw = ffi::EncodeOptions {
        quality: options.quality,
        progressive: options.progressive,
        optimize_size: options.optimize_size,
        chroma_downsampling: options.chroma_downsampling,
        density_unit: if options.density_unit == DensityUnit::Inch { 1 } else { 2 },
        x_density: options.x_density,
        y_density: options.y_density,
        xmp: &options.xmp_metadata,
    };
    ffi::encode(pixels, height as u32, width as u32, channels as u32, &raw).map_err(|failure| match failure {
        ffi::Failure::Library(why) => failed(&why),
        other => failed(&format!("{other:?}")),
    })
}
