//! From a file's components to the wanted channels, one row at a time and the plain way.

use crate::marker::Space;
use crate::{Error, Result};

/// The conversion of a decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Convert {
    /// The first component is the result.
    #[default]
    First,
    /// The first component three times.
    GrayToRgb,
    /// The usual one.
    YccToRgb,
    /// Three components as they are.
    Interleave,
    /// Luma of red, green and blue.
    RgbToGray,
    /// Four inks to RGB; inverted ones where the file has an Adobe segment.
    Cmyk {
        /// Inks are stored as 255 - ink.
        inverted: bool,
    },
    /// The same after three of them were luma and chroma.
    Ycck {
        /// Inks are stored as 255 - ink.
        inverted: bool,
    },
}

impl Convert {
    /// The conversion and the number of channels that it gives.
    pub(crate) fn of(space: Space, channels: u8, inverted: bool) -> Result<(Self, usize)> {
        let channels = match (channels, space) {
            (0, Space::Gray) => 1,
            (0, _) => 3,
            (n, _) => usize::from(n),
        };
        let convert = match (channels, space) {
            (1, Space::Gray | Space::YCbCr) => Self::First,
            (1, Space::Rgb) => Self::RgbToGray,
            (1, _) => return Err(Error::Unsupported("four inks as grey")),
            (_, Space::Gray) => Self::GrayToRgb,
            (_, Space::YCbCr) => Self::YccToRgb,
            (_, Space::Rgb) => Self::Interleave,
            (_, Space::Cmyk) => Self::Cmyk { inverted },
            (_, Space::Ycck) => Self::Ycck { inverted },
        };
        Ok((convert, channels))
    }

    /// How many components it looks at.
    pub(crate) fn inputs(self) -> usize {
        match self {
            Self::First | Self::GrayToRgb => 1,
            Self::YccToRgb | Self::Interleave | Self::RgbToGray => 3,
            Self::Cmyk { .. } | Self::Ycck { .. } => 4,
        }
    }

    /// Converts one row; each of `rows` that is looked at has at least as many samples as `out` has pixels.
    pub(crate) fn row(self, rows: [&[u8]; 4], out: &mut [u8]) {
        let [a, b, c, d] = rows;
        match self {
            Self::First => out.copy_from_slice(&a[..out.len()]),
            Self::GrayToRgb => out.chunks_exact_mut(3).zip(a).for_each(|(to, &v)| to.fill(v)),
            Self::YccToRgb => {
                for (i, to) in out.chunks_exact_mut(3).enumerate() {
                    to.copy_from_slice(&ycc(a[i], b[i], c[i]));
                }
            }
            Self::Interleave => {
                for (i, to) in out.chunks_exact_mut(3).enumerate() {
                    to.copy_from_slice(&[a[i], b[i], c[i]]);
                }
            }
            Self::RgbToGray => {
                for (i, to) in out.iter_mut().enumerate() {
                    let [r, g, b] = [a[i], b[i], c[i]].map(u32::from);
                    *to = ((19595 * r + 38470 * g + 7471 * b + 32768) >> 16) as u8;
                }
            }
            Self::Cmyk { inverted } => {
                for (i, to) in out.chunks_exact_mut(3).enumerate() {
                    to.copy_from_slice(&inks([a[i], b[i], c[i], d[i]], inverted));
                }
            }
            Self::Ycck { inverted } => {
                for (i, to) in out.chunks_exact_mut(3).enumerate() {
                    let [r, g, b] = ycc(a[i], b[i], c[i]).map(|v| 255 - v);
                    to.copy_from_slice(&inks([r, g, b, d[i]], inverted));
                }
            }
        }
    }
}

/// `round(x 2^16)` times the chroma, rounded; all of it clamped to 0..=255.
fn ycc(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, b, r) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + ((91881 * r + 32768) >> 16);
    let green = y + ((-22554 * b - 46802 * r + 32768) >> 16);
    let blue = y + ((116_130 * b + 32768) >> 16);
    [red, green, blue].map(|v| v.clamp(0, 255) as u8)
}

/// TensorFlow's rule: the product of ink and black, rounded down.
fn inks([c, m, y, k]: [u8; 4], inverted: bool) -> [u8; 3] {
    let light = |v: u8| u32::from(if inverted { v } else { 255 - v });
    let k = light(k);
    [c, m, y].map(|v| (k * light(v) / 255) as u8)
}
