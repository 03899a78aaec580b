//! How a file is to be decoded.

use crate::{Error, Result};

/// The inverse DCT; they differ by some levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dct {
    /// Libjpeg's `JDCT_IFAST`, as its x86 vector code computes it.
    #[default]
    Fast,
    /// Libjpeg's `JDCT_ISLOW`.
    Accurate,
}

/// Which pixels a region has where smooth upsampling looks beyond its edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Edges {
    /// Those of the whole image, cut out.
    #[default]
    Whole,
    /// Those of libjpeg-turbo's `jpeg_crop_scanline`: colour is not looked up left of the block that the region starts
    /// in nor right of the region's end.
    Cropped,
}

/// A window of the output, in its pixels (after `ratio`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// Number of columns, at least 1.
    pub width: usize,
    /// Number of rows, at least 1.
    pub height: usize,
    /// The rule for the columns at the left and right edge.
    pub edges: Edges,
}

/// How a file is decoded. The defaults are those of `tf.io.decode_jpeg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Channels of the result: 0 (1 for grey files, else 3), 1 (grey) or 3 (RGB).
    pub channels: u8,
    /// The image is made smaller by 1, 2, 4 or 8 in the inverse DCT.
    pub ratio: u8,
    /// Smooth instead of plain enlarging of the colour planes.
    pub fancy: bool,
    /// The inverse DCT.
    pub dct: Dct,
    /// Only this part.
    pub region: Option<Region>,
    /// Files of this many samples (width times height of the output times components of the file) or more are refused
    /// before anything is allocated.
    pub max_samples: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { channels: 0, ratio: 1, fancy: true, dct: Dct::Fast, region: None, max_samples: 1 << 29 }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<()> {
        if !matches!(self.channels, 0 | 1 | 3) {
            return Err(Error::Options("channels must be 0, 1 or 3"));
        }
        if !matches!(self.ratio, 1 | 2 | 4 | 8) {
            return Err(Error::Options("ratio must be 1, 2, 4 or 8"));
        }
        Ok(())
    }
}
