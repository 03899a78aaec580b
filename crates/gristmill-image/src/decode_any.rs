//! One entry for TensorFlow's decoding ops: the bytes say which format it is, the op what is allowed.
//!
//! The rules are those of `tensorflow/core/kernels/image/decode_image_op.cc`.

use crate::jpeg::JpegOptions;
use crate::output::slot;
use crate::{Error, Format, Image, Output, Result, bmp, gif, jpeg, png, sniff, webp};

/// The op that decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Op {
    /// `tf.io.decode_jpeg`: also reads PNG, GIF of one frame, and WebP with four dimensions.
    DecodeJpeg,
    /// `tf.io.decode_and_crop_jpeg`: JPEG only, with [`JpegOptions::crop`].
    DecodeAndCropJpeg,
    /// `tf.io.decode_png`: also reads JPEG, GIF of one frame, and WebP with four dimensions.
    DecodePng,
    /// `tf.io.decode_gif`: also reads JPEG, PNG and WebP, always with four dimensions.
    DecodeGif,
    /// `tf.io.decode_bmp`: also reads WebP with four dimensions.
    DecodeBmp,
    /// `tf.io.decode_image`: everything.
    #[default]
    DecodeImage,
}

impl Op {
    /// TensorFlow's name of the op.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DecodeJpeg => "DecodeJpeg",
            Self::DecodeAndCropJpeg => "DecodeAndCropJpeg",
            Self::DecodePng => "DecodePng",
            Self::DecodeGif => "DecodeGif",
            Self::DecodeBmp => "DecodeBmp",
            Self::DecodeImage => "DecodeImage",
        }
    }
}

/// What is decoded how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeOptions<'a> {
    /// The op.
    pub op: Op,
    /// Channels of the result: 0 (as in the file), 1, 3 or 4. GIF has 3; for WebP it must be what the file has. This,
    /// not the field of `jpeg`, counts.
    pub channels: u32,
    /// For [`Op::DecodeImage`]: whether a GIF or a WebP becomes `[frames, height, width, channels]`, even if it is not
    /// animated, or its first frame.
    pub expand_animations: bool,
    /// How a JPEG is decoded.
    pub jpeg: JpegOptions<'a>,
}

impl Default for DecodeOptions<'_> {
    fn default() -> Self {
        Self { op: Op::default(), channels: 0, expand_animations: true, jpeg: JpegOptions::default() }
    }
}

/// The output, by the wanted type of the samples. 8-bit samples become `u16` by `* 256` and `f32` by `* (1 / 255)`;
/// PNG is read with 16 bits for both, becoming `f32` by `* (1 / 65535)`.
pub enum Target<'a> {
    /// 8 bits.
    U8(&'a mut dyn Output<u8>),
    /// 16 bits: [`Op::DecodePng`] and [`Op::DecodeImage`].
    U16(&'a mut dyn Output<u16>),
    /// 0 to 1: [`Op::DecodeImage`].
    F32(&'a mut dyn Output<f32>),
}

/// Puts 4-D shapes of one image on an output that is asked for 3-D ones.
struct OneFrame<'a, T>(&'a mut dyn Output<T>);

impl<T> Output<T> for OneFrame<'_, T> {
    fn slot(&mut self, shape: &[usize]) -> Result<&mut [T]> {
        self.0.slot(&[&[1], shape].concat())
    }
}

fn put<A: Copy, B>(image: &Image<A>, output: &mut dyn Output<B>, convert: impl Fn(A) -> B) -> Result<()> {
    let out = slot(output, &image.shape)?;
    for (o, &v) in out.iter_mut().zip(&image.data) {
        *o = convert(v);
    }
    Ok(())
}

/// Decodes 8-bit samples with `decode` and converts them to what the target wants.
fn eight_bits(target: Target<'_>, decode: impl FnOnce(&mut dyn Output<u8>) -> Result<()>) -> Result<()> {
    if let Target::U8(output) = target {
        return decode(output);
    }
    let mut image = Image::default();
    decode(&mut image)?;
    match target {
        Target::U16(output) => put(&image, output, |v| u16::from(v) * 256),
        Target::F32(output) => put(&image, output, |v| f32::from(v) * (1.0 / 255.0)),
        Target::U8(_) => unreachable!("returned above"),
    }
}

fn wrong_op(format: Format, options: &DecodeOptions<'_>) -> Result<()> {
    let name = format.name();
    match (options.op, format) {
        (Op::DecodeAndCropJpeg, f) if f != Format::Jpeg => Err(Error::invalid(format!(
            "DecodeAndCropJpeg operation can run on JPEG only, but detected {name}."
        ))),
        (Op::DecodeBmp, Format::Jpeg | Format::Png | Format::Gif) => Err(Error::invalid(format!(
            "Trying to decode {name} format using DecodeBmp op. Use `decode_{}` or `decode_image` instead.",
            name.to_lowercase()
        ))),
        (op, Format::Bmp) if !matches!(op, Op::DecodeBmp | Op::DecodeImage) => Err(Error::invalid(format!(
            "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` instead. Op used: {}",
            op.name()
        ))),
        _ => Ok(()),
    }
}

fn decode_gif(contents: &[u8], options: &DecodeOptions<'_>, output: &mut dyn Output<u8>) -> Result<()> {
    let (op, expand) = (options.op, options.expand_animations || options.op != Op::DecodeImage);
    let shape = |frames: usize, height: usize, width: usize| match op {
        Op::DecodeJpeg | Op::DecodePng if frames != 1 => Err(Error::invalid(format!(
            "Got {frames} frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image"
        ))),
        Op::DecodeGif => Ok(vec![frames, height, width, 3]),
        Op::DecodeImage if expand => Ok(vec![frames, height, width, 3]),
        _ => Ok(vec![height, width, 3]),
    };
    gif::decode(contents, expand, shape, output)
}

/// Decodes `contents` into `target`.
///
/// The output is asked for `[height, width, channels]`, or for `[frames, height, width, channels]` in the case of
/// [`Op::DecodeGif`] (whatever the format), of a GIF with `expand_animations`, and of a WebP unless that is off.
///
/// # Errors
///
/// [`Error::InvalidArgument`] when the bytes are no image, damaged, or not for this op, channels or type;
/// [`Error::Unsupported`] for JPEG XL; what the output says.
pub fn decode(contents: &[u8], options: &DecodeOptions<'_>, target: Target<'_>) -> Result<()> {
    let channels = if options.op == Op::DecodeGif { 3 } else { options.channels };
    if !matches!(channels, 0 | 1 | 3 | 4) {
        return Err(Error::invalid(format!("`channels` must be 0, 1, 3 or 4 but got {channels}")));
    }
    match (options.op, &target) {
        (_, Target::U8(_)) | (Op::DecodeImage, _) | (Op::DecodePng, Target::U16(_)) => {}
        (op, _) => {
            return Err(Error::invalid(format!("{} gives uint8, not the wanted dtype", op.name())));
        }
    }
    if contents.is_empty() {
        return Err(Error::invalid("Input is empty."));
    }
    if contents.len() > i32::MAX as usize {
        return Err(Error::invalid(format!("Input contents are too large for int: {}", contents.len())));
    }
    let format = sniff(contents).ok_or_else(|| {
        Error::invalid("Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required.")
    })?;
    wrong_op(format, options)?;
    let four = options.op == Op::DecodeGif;
    match format {
        Format::Jpeg => {
            let jpeg = JpegOptions { channels, ..options.jpeg };
            eight_bits(target, |output| match four {
                true => jpeg::decode(contents, &jpeg, &mut OneFrame(output)),
                false => jpeg::decode(contents, &jpeg, output),
            })
        }
        Format::Png => match target {
            Target::U8(output) if four => png::decode(contents, channels, &mut OneFrame(output)),
            Target::U8(output) => png::decode(contents, channels, output),
            Target::U16(output) => png::decode(contents, channels, output),
            Target::F32(output) => {
                let mut image = Image::<u16>::default();
                png::decode(contents, channels, &mut image)?;
                put(&image, output, |v| f32::from(v) * (1.0 / 65535.0))
            }
        },
        Format::Gif if matches!(channels, 1 | 4) => {
            Err(Error::invalid(format!("channels must be 0 or 3 for GIF, got {channels}")))
        }
        Format::Gif => eight_bits(target, |output| decode_gif(contents, options, output)),
        Format::Bmp => eight_bits(target, |output| bmp::decode(contents, channels, output)),
        Format::WebP => match target {
            Target::U8(output) => {
                let expand = options.expand_animations || options.op != Op::DecodeImage;
                webp::decode(contents, channels, expand, output)
            }
            _ => Err(Error::invalid("WebP only supports uint8 for dtype")),
        },
        Format::JpegXl => Err(Error::Unsupported(
            "JPEG XL is not decoded here; convert the file to JPEG, PNG, GIF, BMP or WebP".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jpeg::EncodeOptions;

    fn decoded(contents: &[u8], op: Op, channels: u32) -> Result<Image<u8>> {
        let mut image = Image::default();
        decode(contents, &DecodeOptions { op, channels, ..Default::default() }, Target::U8(&mut image))?;
        Ok(image)
    }

    #[test]
    fn formats_and_ops() {
        let pixels = [9u8, 9, 9, 200, 200, 200];
        let png = png::encode(&pixels, 1, 2, 3, -1).unwrap();
        assert_eq!(
            decoded(&png, Op::DecodeJpeg, 0).unwrap(),
            Image { shape: vec![1, 2, 3], data: pixels.to_vec() }
        );
        assert_eq!(decoded(&png, Op::DecodeGif, 0).unwrap().shape, [1, 1, 2, 3]);
        let words = |c: &[u8], op| decoded(c, op, 0).unwrap_err().to_string();
        assert!(words(&png, Op::DecodeBmp).contains("Use `decode_png` or `decode_image`"));
        assert!(words(&png, Op::DecodeAndCropJpeg).contains("but detected PNG"));
        assert!(words(b"BM", Op::DecodeJpeg).contains("Op used: DecodeJpeg"));
        assert_eq!(words(b"", Op::DecodeImage), "Input is empty.");
        assert!(words(b"nonsense", Op::DecodeImage).contains("Unknown image file format"));
        assert!(
            decoded(&png, Op::DecodeImage, 2)
                .unwrap_err()
                .to_string()
                .contains("must be 0, 1, 3 or 4 but got 2")
        );
        let jpeg = jpeg::encode(&pixels, 1, 2, 3, &EncodeOptions::default()).unwrap();
        assert_eq!(decoded(&jpeg, Op::DecodePng, 1).unwrap().shape, [1, 2, 1]);
        assert!(
            decoded(&jpeg, Op::DecodeImage, 4)
                .unwrap_err()
                .to_string()
                .contains("does not support 4 channels")
        );
    }

    #[test]
    fn other_types() {
        let options = DecodeOptions::default();
        let png = png::encode(&[51u8], 1, 1, 1, -1).unwrap();
        let jpeg = jpeg::encode(&[128; 64], 8, 8, 1, &EncodeOptions::default()).unwrap();
        let mut wide = Vec::<u16>::new();
        decode(&png, &options, Target::U16(&mut wide)).unwrap();
        assert_eq!(wide, [51 * 257]);
        decode(&jpeg, &options, Target::U16(&mut wide)).unwrap();
        assert_eq!(wide[0], 128 * 256);
        let mut real = Vec::<f32>::new();
        decode(&jpeg, &options, Target::F32(&mut real)).unwrap();
        assert_eq!(real[0], 128.0 * (1.0f32 / 255.0));
        decode(&png, &options, Target::F32(&mut real)).unwrap();
        assert_eq!(real, [13107.0 * (1.0f32 / 65535.0)]);
    }
}
