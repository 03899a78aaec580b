//! From the samples in the file to the wanted ones.

use std::borrow::Cow;

use png::{BitDepth, ColorType, Info};

use super::gamma::Gamma;

/// The types that PNG samples come in.
pub trait Sample: sealed::Sealed + Copy + Default + 'static {
    /// 8 or 16.
    const BITS: u32;
    /// From a sample of 8 bits.
    #[doc(hidden)]
    fn from_8(value: u16) -> Self;
    /// From a sample of 16 bits.
    #[doc(hidden)]
    fn from_16(value: u16) -> Self;
    /// The slice itself, if samples are bytes.
    #[doc(hidden)]
    fn bytes(samples: &mut [Self]) -> Option<&mut [u8]>;
    /// As the file has them.
    #[doc(hidden)]
    fn big_endian(samples: &[Self]) -> Cow<'_, [u8]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
}

impl Sample for u8 {
    const BITS: u32 = 8;
    fn from_8(value: u16) -> Self {
        value as u8
    }
    fn from_16(value: u16) -> Self {
        (value >> 8) as u8
    }
    fn bytes(samples: &mut [Self]) -> Option<&mut [u8]> {
        Some(samples)
    }
    fn big_endian(samples: &[Self]) -> Cow<'_, [u8]> {
        samples.into()
    }
}

impl Sample for u16 {
    const BITS: u32 = 16;
    fn from_8(value: u16) -> Self {
        value * 257
    }
    fn from_16(value: u16) -> Self {
        value
    }
    fn bytes(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }
    fn big_endian(samples: &[Self]) -> Cow<'_, [u8]> {
        samples.iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<_>>().into()
    }
}

/// What the header says, and how pixels follow from it.
pub(super) struct Source {
    pub(super) width: usize,
    pub(super) height: usize,
    color: ColorType,
    depth: BitDepth,
    palette: Vec<u8>,
    transparency: Option<Vec<u8>>,
    gamma: Option<Gamma>,
}

// Weights of red, green and blue in 1/32768, as libpng's png_set_rgb_to_gray makes them from .299 and .587.
const RED: u32 = 29_900 * 32_768 / 100_000;
const GREEN: u32 = 58_700 * 32_768 / 100_000;
const BLUE: u32 = 32_768 - RED - GREEN;

impl Source {
    pub(super) fn new(info: &Info<'_>, wanted_bits: u32, channels: u32) -> Self {
        let depth = if info.bit_depth == BitDepth::Sixteen { 16 } else { 8 };
        Self {
            gamma: if matches!(channels, 1 | 2) { Gamma::new(info, depth, wanted_bits) } else { None },
            width: info.width as usize,
            height: info.height as usize,
            color: info.color_type,
            depth: info.bit_depth,
            palette: info.palette.as_deref().unwrap_or_default().to_vec(),
            transparency: info.trns.as_deref().map(<[u8]>::to_vec),
        }
    }

    /// The channels that the file has; a palette counts as the colours in it.
    pub(super) fn own_channels(&self) -> usize {
        match self.color {
            ColorType::Grayscale => 1,
            ColorType::GrayscaleAlpha => 2,
            ColorType::Rgb => 3,
            ColorType::Rgba => 4,
            ColorType::Indexed => 3 + usize::from(self.transparency.is_some()),
        }
    }

    /// Whether the file's bytes are the wanted 8-bit samples.
    pub(super) fn is_plain(&self, channels: usize) -> bool {
        self.depth == BitDepth::Eight && self.color != ColorType::Indexed && self.own_channels() == channels
    }

    fn is_gray(&self) -> bool {
        matches!(self.color, ColorType::Grayscale | ColorType::GrayscaleAlpha)
    }

    /// The colour that counts as transparent, one number a channel.
    fn transparent_colour(&self) -> Option<[u16; 3]> {
        let bytes = self.transparency.as_deref()?;
        let mask = ((1u32 << self.depth as u32) - 1) as u16;
        // The reader has already dropped the high bytes below 16 bits.
        let at = |i: usize| match self.depth {
            BitDepth::Sixteen => bytes.get(2 * i..2 * i + 2).map(|b| u16::from_be_bytes([b[0], b[1]])),
            _ => bytes.get(i).map(|&b| u16::from(b) & mask),
        };
        let first = at(0)?;
        if self.is_gray() { Some([first; 3]) } else { Some([first, at(1)?, at(2)?]) }
    }

    /// One row to red, green, blue and alpha of 8 bits (16 for a file of 16 bits).
    pub(super) fn expand(&self, row: &[u8], out: &mut [[u16; 4]]) {
        let bits = self.depth as usize;
        let unpack = |i: usize| -> u16 {
            match bits {
                16 => u16::from_be_bytes([row[2 * i], row[2 * i + 1]]),
                8 => row[i].into(),
                _ => (row[i * bits / 8] >> (8 - bits - i * bits % 8)) as u16 & ((1 << bits) - 1),
            }
        };
        let full = if bits == 16 { u16::MAX } else { 255 };
        // Where there is no alpha libpng fills in the largest value of the file's depth, even when samples are widened.
        let filler = ((1u32 << bits) - 1) as u16;
        let scale = if bits < 8 && self.is_gray() { 255 / ((1 << bits) - 1) } else { 1 };
        let transparent = self.transparent_colour();
        let alpha = |colour: [u16; 3]| match transparent {
            None => filler,
            Some(t) if t == colour => 0,
            Some(_) => full,
        };
        for (i, out) in out.iter_mut().enumerate() {
            *out = match self.color {
                ColorType::Grayscale => {
                    let v = unpack(i);
                    [v * scale, v * scale, v * scale, alpha([v; 3])]
                }
                ColorType::GrayscaleAlpha => {
                    let v = unpack(2 * i);
                    [v, v, v, unpack(2 * i + 1)]
                }
                ColorType::Rgb => {
                    let rgb = [unpack(3 * i), unpack(3 * i + 1), unpack(3 * i + 2)];
                    [rgb[0], rgb[1], rgb[2], alpha(rgb)]
                }
                ColorType::Rgba => [unpack(4 * i), unpack(4 * i + 1), unpack(4 * i + 2), unpack(4 * i + 3)],
                ColorType::Indexed => {
                    let index = usize::from(unpack(i));
                    let rgb = self.palette.get(3 * index..3 * index + 3).unwrap_or(&[0, 0, 0]);
                    let alpha = match &self.transparency {
                        None => filler,
                        Some(t) => t.get(index).map_or(255, |&a| a.into()),
                    };
                    [rgb[0].into(), rgb[1].into(), rgb[2].into(), alpha]
                }
            };
        }
    }

    fn gray(&self, [r, g, b, _]: [u16; 4]) -> u16 {
        if r == g && g == b {
            return r;
        }
        let weigh = |r: u32, g: u32, b: u32, half: u32| (RED * r + GREEN * g + BLUE * b + half) >> 15;
        if let Some(gamma) = &self.gamma {
            return gamma.sample(weigh(gamma.linear(r), gamma.linear(g), gamma.linear(b), 16_384));
        }
        // libpng rounds with 16 bits and not with 8.
        let half = if self.depth == BitDepth::Sixteen { 16_384 } else { 0 };
        weigh(r.into(), g.into(), b.into(), half) as u16
    }

    /// One row of [`Source::expand`] to the wanted channels and type.
    pub(super) fn convert<T: Sample>(&self, row: &[[u16; 4]], out: &mut [T], channels: usize) {
        let sample = if self.depth == BitDepth::Sixteen { T::from_16 } else { T::from_8 };
        for (&pixel, out) in row.iter().zip(out.chunks_exact_mut(channels)) {
            if channels < 3 {
                out[0] = sample(self.gray(pixel));
                if channels == 2 {
                    out[1] = sample(pixel[3]);
                }
            } else {
                for (out, v) in out.iter_mut().zip(pixel) {
                    *out = sample(v);
                }
            }
        }
    }
}
