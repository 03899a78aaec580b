use image_webp::{ColorType, WebPEncoder};

use super::*;
use crate::Image;
use crate::decode_any::{self, DecodeOptions, Op, Target};

fn lossless(pixels: &[u8], width: u32, height: u32, color: ColorType) -> Vec<u8> {
    let mut file = Vec::new();
    WebPEncoder::new(&mut file).encode(pixels, width, height, color).unwrap();
    file
}

/// 3 x 2 pixels: lossy colours with a lossless alpha plane, by libwebp at quality 30.
const LOSSY: &[u8] = b"RIFF\x62\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\x02\0\0\x01\0\0ALPH\x07\0\0\0\0\xff\x80\0\x07\xff\x63\0\
    VP8 \x34\0\0\0\xb0\x01\0\x9d\x01\x2a\x03\0\x02\0\x04\0\x68\x25\xa8\x02\x74\x01\x0e\xf6\xa2\x20\0\xfe\x78\x4b\x5e\x63\
    \xff\x34\xc4\x3c\x9e\xf0\x14\x7b\x6e\xc4\xfa\x5b\x4c\xd6\x78\xb2\xe1\x26\x5a\xbd\x28\x50\x40\0";

/// What libwebp makes of it.
const LOSSY_PIXELS: [u8; 24] =
    [153, 37, 62, 255, 147, 58, 63, 128, 96, 62, 23, 0, 83, 0, 0, 7, 255, 219, 225, 255, 100, 65, 27, 99];

const NOT_BLENDED: u8 = 2;
const DISPOSED: u8 = 1;

/// An animation of lossless frames: left and upper edge, width and height, flags, RGBA pixels.
fn animation(width: u8, height: u8, frames: &[([u8; 4], u8, &[u8])]) -> Vec<u8> {
    let mut file = b"RIFF\0\0\0\0WEBP".to_vec();
    chunk(&mut file, b"VP8X", &[0x12, 0, 0, 0, width - 1, 0, 0, height - 1, 0, 0]);
    chunk(&mut file, b"ANIM", &[9, 8, 7, 255, 0, 0]);
    for &([x, y, w, h], flags, pixels) in frames {
        let mut frame = vec![x / 2, 0, 0, y / 2, 0, 0, w - 1, 0, 0, h - 1, 0, 0, 100, 0, 0, flags];
        frame.extend_from_slice(&lossless(pixels, w.into(), h.into(), ColorType::Rgba8)[12..]);
        chunk(&mut file, b"ANMF", &frame);
    }
    let size = file.len() as u32 - 8;
    file[4..8].copy_from_slice(&size.to_le_bytes());
    file
}

fn decoded(contents: &[u8], channels: u32, expand: bool) -> Result<Image<u8>> {
    let mut image = Image::default();
    decode(contents, channels, expand, &mut image)?;
    Ok(image)
}

fn words(contents: &[u8], channels: u32) -> String {
    decoded(contents, channels, true).unwrap_err().to_string()
}

#[test]
fn stills() {
    let rgb = [1u8, 2, 3, 40, 50, 60];
    let file = lossless(&rgb, 2, 1, ColorType::Rgb8);
    for channels in [0, 3] {
        let image = decoded(&file, channels, true).unwrap();
        assert_eq!((image.shape, image.data), (vec![1, 1, 2, 3], rgb.to_vec()));
    }
    assert_eq!(decoded(&file, 0, false).unwrap().shape, [1, 2, 3]);
    assert!(words(&file, 4).contains("Number of channels requested does not match input"));
    assert!(words(&file, 1).contains("WebP only supports 3 or 4 channels"));

    let image = decoded(LOSSY, 4, true).unwrap();
    assert_eq!((image.shape, image.data), (vec![1, 2, 3, 4], LOSSY_PIXELS.to_vec()));
    assert!(words(LOSSY, 3).contains("does not match input"));
}

#[test]
fn every_op_but_cropping_reads_it() {
    let file = lossless(&[1, 2, 3, 40, 50, 60], 2, 1, ColorType::Rgb8);
    let shape = |op, expand_animations| {
        let mut image = Image::<u8>::default();
        let options = DecodeOptions { op, expand_animations, ..Default::default() };
        decode_any::decode(&file, &options, Target::U8(&mut image)).map(|()| image.shape)
    };
    for op in [Op::DecodeJpeg, Op::DecodePng, Op::DecodeGif, Op::DecodeBmp] {
        assert_eq!(shape(op, false).unwrap(), [1, 1, 2, 3]);
    }
    assert_eq!(shape(Op::DecodeImage, true).unwrap(), [1, 1, 2, 3]);
    assert_eq!(shape(Op::DecodeImage, false).unwrap(), [1, 2, 3]);
    assert!(shape(Op::DecodeAndCropJpeg, true).unwrap_err().to_string().contains("but detected WebP"));
    let wide =
        decode_any::decode(&file, &DecodeOptions::default(), Target::F32(&mut Image::<f32>::default()));
    assert!(wide.unwrap_err().to_string().contains("WebP only supports uint8 for dtype"));
}

#[test]
fn frames_are_drawn_as_libwebp_draws_them() {
    let (red, green, clear) = ([200, 0, 0, 255], [0, 100, 0, 128], [7, 7, 7, 0]);
    let file = animation(
        3,
        1,
        &[
            ([0, 0, 3, 1], 0, &[red, red, red].concat()),
            ([0, 0, 2, 1], DISPOSED, &[green, clear].concat()),
            ([2, 0, 1, 1], NOT_BLENDED, &green),
            ([0, 0, 2, 1], 0, &[clear, green].concat()),
        ],
    );
    let image = decoded(&file, 0, true).unwrap();
    assert_eq!(image.shape, [4, 1, 3, 4]);
    // 128 of 255 green over opaque red, in integers: (200 * 127) / 255 and (100 * 128) / 255.
    let mixed = [99, 50, 0, 255];
    let none = [0; 4];
    let expected = [[red, red, red], [mixed, red, red], [none, none, green], [none, [0, 100, 0, 128], green]];
    assert_eq!(image.data, expected.as_flattened().as_flattened());
    let first = decoded(&file, 4, false).unwrap();
    assert_eq!((first.shape, first.data), (vec![1, 3, 4], [red, red, red].concat()));
    assert!(words(&file, 3).contains("WebP Animation must be 4 channel RGBA"));
}

#[test]
fn damaged_files() {
    let file = lossless(&[9; 40 * 30 * 3], 40, 30, ColorType::Rgb8);
    let moving = animation(2, 1, &[([0, 0, 2, 1], 0, &[5; 8]), ([0, 0, 1, 1], 0, &[6; 4])]);
    for file in [&file[..], LOSSY, &moving] {
        for n in 0..file.len() {
            assert!(decoded(&file[..n], 0, true).is_err(), "the first {n} of {} bytes", file.len());
        }
    }
    assert!(words(&file[..20], 0).starts_with("Failed to decode WebP header."));
    assert!(words(&file[..file.len() - 4], 0).starts_with("Failed to decode WebP image."));
    assert!(words(&moving[..60], 0).starts_with("Failed to decode WebP Animation"));
    let outside = animation(2, 1, &[([2, 0, 1, 1], 0, &[5; 4])]);
    assert!(words(&outside, 0).contains("outside of the canvas"));
}

#[test]
fn declared_sizes_are_bounded_before_memory_is_asked_for() {
    struct Never;
    impl Output<u8> for Never {
        fn slot(&mut self, _: &[usize]) -> Result<&mut [u8]> {
            panic!("asked for memory")
        }
    }
    let mut large = lossless(&[9; 4], 1, 1, ColorType::Rgba8);
    // 16384 x 16384 pixels with alpha.
    large[21..25].copy_from_slice(&0x1FFF_FFFFu32.to_le_bytes());
    assert!(decode(&large, 0, true, &mut Never).unwrap_err().to_string().contains("too large"));
    let mut canvas = animation(2, 1, &[([0, 0, 1, 1], 0, &[5; 4])]);
    canvas[24..30].fill(0xFF);
    assert!(decode(&canvas, 0, true, &mut Never).unwrap_err().to_string().contains("too large"));
}
