//! Decoding, turning, resizing and encoding of one image in memory that is used again for the next.

use gristmill_image::jpeg::{self, EncodeOptions, JpegOptions};
use gristmill_image::resize::{Scratch, Size, resize_bilinear};
use gristmill_image::{Format, geometry, png};

use super::inspect::Facts;
use super::options::{Exif, Fit, PackOptions};
use super::release::release;
use super::work::IN_FLIGHT_BYTES;
use crate::picture;

/// A decoded image in memory that is kept.
#[derive(Debug, Default)]
pub(crate) struct Pixels {
    buffer: Vec<u8>,
    height: usize,
    width: usize,
    channels: usize,
    /// Bytes that are kept from image to image.
    kept: usize,
}

impl Pixels {
    /// No image; memory beyond `kept` bytes is given back after use.
    pub(crate) fn new(kept: usize) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Room for an image of shape `[height, width, channels]`.
    pub(crate) fn take(&mut self, shape: &[usize]) -> &mut [u8] {
        let [height, width, channels] = *shape else { return &mut [] };
        (self.height, self.width, self.channels) = (height, width, channels);
        let samples = height * width * channels;
        if self.buffer.len() < samples {
            self.buffer.resize(samples, 0);
        }
        &mut self.buffer[..samples]
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    fn size(&self) -> Size {
        Size::new(self.height, self.width, self.channels)
    }

    fn samples(&self) -> &[u8] {
        &self.buffer[..self.height * self.width * self.channels]
    }

    /// Gives memory back that is more than is to be kept; the image is gone then.
    pub(crate) fn trim(&mut self) {
        if self.drop_large() {
            release();
        }
    }

    /// Frees memory that is more than is to be kept; says whether there was any.
    fn drop_large(&mut self) -> bool {
        let large = self.buffer.len() > self.kept;
        if large {
            *self = Self::new(self.kept);
        }
        large
    }

    /// Makes one or four channels three: grey is repeated, alpha dropped.
    fn make_rgb(&mut self) {
        let n = self.height * self.width;
        match self.channels {
            1 => {
                if self.buffer.len() < n * 3 {
                    self.buffer.resize(n * 3, 0);
                }
                for i in (0..n).rev() {
                    let grey = self.buffer[i];
                    self.buffer[3 * i..3 * i + 3].fill(grey);
                }
            }
            4 => (0..n).for_each(|i| self.buffer.copy_within(4 * i..4 * i + 3, 3 * i)),
            _ => return,
        }
        self.channels = 3;
    }
}

/// The memory of one worker.
#[derive(Debug, Default)]
pub(crate) struct Studio {
    pub(crate) pixels: Pixels,
    turned: Pixels,
    scratch: Scratch,
    floats: Vec<f32>,
}

/// Whether the image is encoded anew.
pub(crate) fn is_changed(facts: &Facts, options: &PackOptions) -> bool {
    options.resize.is_some() || (options.exif == Exif::Apply && facts.orientation != 1)
}

/// Bytes that an image takes for each pixel of its new size: floats, and the JPEG at its largest.
pub(crate) const BYTES_PER_NEW_PIXEL: u64 = 4 * 3 + 3;

/// Bytes of a file that the budget for files in flight does not hold.
pub(crate) fn beyond_flight(contents: &[u8]) -> u64 {
    (contents.len() as u64).saturating_sub(IN_FLIGHT_BYTES)
}

/// Bytes of memory that changing the image takes at its peak, with what its file has beyond the budget for files.
pub(crate) fn working_bytes(contents: &[u8], facts: &Facts, options: &PackOptions) -> u64 {
    let pixels = |(height, width): (usize, usize)| (height as u64).saturating_mul(width as u64);
    let old = pixels((facts.height, facts.width));
    let before = picture::decoding_bytes(contents, facts.format, true);
    let turned =
        if options.exif == Exif::Apply && facts.orientation != 1 { old.saturating_mul(3) } else { 0 };
    let after = match options.resize {
        Some((width, height)) => {
            let to = (height as usize, width as usize);
            let scaled = match options.fit {
                Fit::Stretch => to,
                Fit::Crop if facts.orientation >= 5 && turned > 0 => cover((facts.width, facts.height), to),
                Fit::Crop => cover((facts.height, facts.width), to),
            };
            let new = pixels(scaled).saturating_mul(BYTES_PER_NEW_PIXEL);
            old.max(pixels(to)).saturating_mul(3).saturating_add(turned).saturating_add(new)
        }
        None => old.saturating_mul(6).saturating_add(turned),
    };
    before.max(after).saturating_add(beyond_flight(contents))
}

impl Studio {
    /// Keeps at most about `kept` bytes between images.
    pub(crate) fn new(kept: usize) -> Self {
        Self { pixels: Pixels::new(kept / 2), turned: Pixels::new(kept / 4), ..Self::default() }
    }

    /// Decodes, turns (if asked to), resizes (if asked to) and encodes; gives the JPEG, its height and its width.
    ///
    /// # Errors
    /// Why the image cannot be used, in words.
    pub(crate) fn change(
        &mut self,
        contents: &[u8],
        facts: &Facts,
        options: &PackOptions,
    ) -> Result<(Vec<u8>, usize, usize), String> {
        self.decode(contents, facts.format, options.resize.is_some())?;
        if options.exif == Exif::Apply {
            self.turn(facts.orientation).map_err(|e| e.to_string())?;
        }
        if let Some((width, height)) = options.resize {
            self.resize(height as usize, width as usize, options.fit).map_err(|e| e.to_string())?;
        }
        let encode = EncodeOptions { quality: options.quality.into(), ..Default::default() };
        let (h, w, c) = (self.pixels.height, self.pixels.width, self.pixels.channels);
        let encoded = jpeg::encode(self.pixels.samples(), h, w, c, &encode).map_err(|e| e.to_string());
        let mut freed = self.pixels.drop_large() | self.turned.drop_large();
        if self.floats.len() * 4 > self.turned.kept {
            self.floats = Vec::new();
            freed = true;
        }
        if freed {
            release();
        }
        Ok((encoded?, h, w))
    }

    /// Decodes to three channels; a grey JPEG that is only turned stays grey.
    fn decode(&mut self, contents: &[u8], format: Format, rgb: bool) -> Result<(), String> {
        let pixels = &mut self.pixels;
        match format {
            Format::Jpeg => {
                let channels = if rgb { 3 } else { 0 };
                let options = JpegOptions { channels, ..Default::default() };
                jpeg::decode(contents, &options, pixels)
                    .map_err(|e| picture::undecodable(contents, &e.to_string()))
            }
            Format::Png => png::decode::<u8>(contents, 3, pixels).map_err(|e| e.to_string()),
            _ => {
                picture::decode_own(contents, false, pixels)?;
                pixels.make_rgb();
                Ok(())
            }
        }
    }

    /// Turns the image upright.
    fn turn(&mut self, orientation: u8) -> gristmill_image::Result<()> {
        let size = self.pixels.size();
        let quarter = Size::new(size.width, size.height, size.channels);
        let to = if orientation >= 5 { quarter } else { size };
        let (from, into) = (&mut self.pixels, &mut self.turned);
        let src = &from.buffer[..from.height * from.width * from.channels];
        let dst = into.take(&[to.height, to.width, to.channels]);
        match orientation {
            2 => geometry::flip_left_right(src, size, dst)?,
            3 => geometry::rot90(src, size, 2, dst)?,
            4 => geometry::flip_up_down(src, size, dst)?,
            5 => geometry::transpose(src, size, dst)?,
            6 => geometry::rot90(src, size, -1, dst)?,
            7 => {
                // Mirrored along the other diagonal: the transpose, turned by half.
                geometry::rot90(src, size, 2, dst)?;
                (into.height, into.width) = (size.height, size.width);
                let half = &into.buffer[..size.height * size.width * size.channels];
                let back = from.take(&[to.height, to.width, to.channels]);
                return geometry::transpose(half, size, back);
            }
            8 => geometry::rot90(src, size, 1, dst)?,
            _ => return Ok(()),
        }
        std::mem::swap(from, into);
        Ok(())
    }

    /// `tf.cast(tf.image.resize(image, [height, width]), tf.uint8)`.
    fn resize(&mut self, height: usize, width: usize, fit: Fit) -> gristmill_image::Result<()> {
        let from = self.pixels.size();
        let (h, w) = match fit {
            Fit::Stretch => (height, width),
            Fit::Crop => cover((from.height, from.width), (height, width)),
        };
        let samples = h * w * from.channels;
        self.floats.resize(samples.max(self.floats.len()), 0.0);
        let floats = &mut self.floats[..samples];
        let Pixels { buffer, .. } = &self.pixels;
        resize_bilinear(
            &buffer[..from.height * from.width * from.channels],
            from,
            floats,
            (h, w),
            &mut self.scratch,
        )?;
        let (top, left) = ((h - height) / 2, (w - width) / 2);
        let row = width * from.channels;
        let out = self.pixels.take(&[height, width, from.channels]);
        for (y, line) in out.chunks_exact_mut(row).enumerate() {
            let start = ((top + y) * w + left) * from.channels;
            for (to, &value) in line.iter_mut().zip(&floats[start..start + row]) {
                *to = value as u8;
            }
        }
        Ok(())
    }
}

/// The smallest size of the same proportions that covers `to`, each side rounded up as in TensorFlow's `f32` arithmetic.
fn cover(from: (usize, usize), to: (usize, usize)) -> (usize, usize) {
    let scale = (to.0 as f32 / from.0 as f32).max(to.1 as f32 / from.1 as f32);
    let side = |n: usize, least: usize| ((n as f32 * scale).ceil() as usize).max(least);
    (side(from.0, to.0), side(from.1, to.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_image::png;

    fn facts(format: Format, height: usize, width: usize, orientation: u8) -> Facts {
        Facts { format, height, width, orientation }
    }

    #[test]
    fn orientations_come_upright() {
        // Two rows of three; the values name row and column.
        let stored = [11u8, 12, 13, 21, 22, 23];
        let grey = png::encode(&stored, 2, 3, 1, -1).unwrap();
        let expected: [(u8, [usize; 2], [u8; 6]); 8] = [
            (1, [2, 3], [11, 12, 13, 21, 22, 23]),
            (2, [2, 3], [13, 12, 11, 23, 22, 21]),
            (3, [2, 3], [23, 22, 21, 13, 12, 11]),
            (4, [2, 3], [21, 22, 23, 11, 12, 13]),
            (5, [3, 2], [11, 21, 12, 22, 13, 23]),
            (6, [3, 2], [21, 11, 22, 12, 23, 13]),
            (7, [3, 2], [23, 13, 22, 12, 21, 11]),
            (8, [3, 2], [13, 23, 12, 22, 11, 21]),
        ];
        let mut studio = Studio::default();
        for (orientation, size, values) in expected {
            studio.decode(&grey, Format::Png, true).unwrap();
            studio.turn(orientation).unwrap();
            assert_eq!([studio.pixels.height, studio.pixels.width], size, "{orientation}");
            let red: Vec<u8> = studio.pixels.samples().chunks(3).map(|p| p[0]).collect();
            assert_eq!(red, values, "{orientation}");
        }
    }

    #[test]
    fn resized_as_tensorflow_does() {
        let pixels: Vec<u8> = (0..4 * 6 * 3).map(|i| (i * 37 % 251) as u8).collect();
        let file = png::encode(&pixels, 4, 6, 3, -1).unwrap();
        let options = PackOptions { resize: Some((3, 2)), ..Default::default() };
        let mut studio = Studio::default();
        let (jpeg, h, w) = studio.change(&file, &facts(Format::Png, 4, 6, 1), &options).unwrap();
        // Half the size: the mean of two neighbours each way, columns first, cut off.
        let mean = |y: usize, x: usize, c: usize| {
            let at = |y: usize, x: usize| f32::from(pixels[(y * 6 + x) * 3 + c]);
            let (top, bottom) = (
                (at(2 * y, 2 * x) + at(2 * y, 2 * x + 1)) / 2.0,
                (at(2 * y + 1, 2 * x) + at(2 * y + 1, 2 * x + 1)) / 2.0,
            );
            ((top + bottom) / 2.0) as u8
        };
        let expected: Vec<u8> = (0..18).map(|i| mean(i / 9, i / 3 % 3, i % 3)).collect();
        assert_eq!((h, w), (2, 3));
        assert_eq!(jpeg, jpeg::encode(&expected, 2, 3, 3, &EncodeOptions::default()).unwrap());
    }

    #[test]
    fn crops_keep_the_centre() {
        assert_eq!(cover((100, 200), (50, 50)), (50, 100));
        assert_eq!(cover((333, 500), (192, 192)), (192, 289));
        let mut pixels = vec![0u8; 2 * 6 * 3];
        for (x, p) in pixels.chunks_mut(3).enumerate() {
            p.fill((x % 6) as u8 * 10);
        }
        let file = png::encode(&pixels, 2, 6, 3, -1).unwrap();
        let mut studio = Studio::default();
        studio.decode(&file, Format::Png, true).unwrap();
        studio.resize(2, 2, Fit::Crop).unwrap();
        assert_eq!(studio.pixels.samples(), [[20; 3], [30; 3], [20; 3], [30; 3]].concat());
    }

    #[test]
    fn channels_become_three() {
        let mut studio = Studio::default();
        studio.pixels.take(&[1, 2, 1]).copy_from_slice(&[7, 9]);
        studio.pixels.make_rgb();
        assert_eq!(studio.pixels.samples(), [7, 7, 7, 9, 9, 9]);
        studio.pixels.take(&[1, 2, 4]).copy_from_slice(&[1, 2, 3, 0, 4, 5, 6, 255]);
        studio.pixels.make_rgb();
        assert_eq!(studio.pixels.samples(), [1, 2, 3, 4, 5, 6]);
    }
}
