//! Pictures in files and in records: told by their first bytes, measured by their headers.

pub(crate) mod exif;
pub(crate) mod jpeg;
pub(crate) mod png;

use gristmill_image::decode_any::{DecodeOptions, Target, decode};
use gristmill_image::{Format, Image, Output, sniff};

/// A picture's format and, where its header is readable, its size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) format: Format,
    /// Height, then width.
    pub(crate) size: Option<(usize, usize)>,
}

/// What a byte string is if it is a picture. `BM` alone is too little to go by: a bitmap's header must hold.
pub(crate) fn recognise(bytes: &[u8]) -> Option<Picture> {
    let format = sniff(bytes)?;
    let size = size(bytes, format);
    let doubtful = matches!(format, Format::Bmp) || (matches!(format, Format::JpegXl) && bytes.len() < 64);
    (!doubtful || size.is_some()).then_some(Picture { format, size })
}

fn u16_le(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn u32_be(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize)
}

fn i32_le(bytes: &[u8], at: usize) -> Option<usize> {
    Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?).unsigned_abs() as usize)
}

fn size(bytes: &[u8], format: Format) -> Option<(usize, usize)> {
    match format {
        Format::Jpeg => jpeg::header(bytes).ok().map(|[height, width, _]| (height, width)),
        Format::Png => png::header(bytes).ok().map(|header| (header.height, header.width)),
        Format::Gif => Some((u16_le(bytes, 8)?, u16_le(bytes, 6)?)),
        Format::Bmp => {
            // The size of the info header tells whether this is a bitmap at all.
            let known = matches!(i32_le(bytes, 14)?, 12 | 40 | 52 | 56 | 64 | 108 | 124);
            (known && bytes.len() > 26).then_some(())?;
            Some((i32_le(bytes, 22)?, i32_le(bytes, 18)?))
        }
        Format::WebP => webp_size(bytes),
        Format::JpegXl => None,
    }
}

/// The three kinds of first chunk: lossy, lossless, extended.
fn webp_size(bytes: &[u8]) -> Option<(usize, usize)> {
    let u24 = |at: usize| Some(u16_le(bytes, at)? | usize::from(*bytes.get(at + 2)?) << 16);
    match bytes.get(12..16)? {
        b"VP8 " => Some((u16_le(bytes, 28)? & 0x3fff, u16_le(bytes, 26)? & 0x3fff)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(bytes.get(21..25)?.try_into().ok()?);
            Some(((bits >> 14 & 0x3fff) as usize + 1, (bits & 0x3fff) as usize + 1))
        }
        b"VP8X" => Some((u24(27)? + 1, u24(24)? + 1)),
        _ => None,
    }
}

/// The size of the first frame of a GIF, which may be larger than the screen that the header tells of.
fn gif_frame(bytes: &[u8]) -> Option<(usize, usize)> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table(*bytes.get(10)?);
    while *bytes.get(at)? == 0x21 {
        // An extension: blocks until one that is empty.
        at += 2;
        while let length @ 1.. = usize::from(*bytes.get(at)?) {
            at += length + 1;
        }
        at += 1;
    }
    (*bytes.get(at)? == 0x2c).then_some(())?;
    Some((u16_le(bytes, at + 7)?, u16_le(bytes, at + 5)?))
}

/// Bytes of memory that decoding takes at its peak, beside the file: the pixels, in three channels with `rgb` and as in
/// the file otherwise, and what the decoder holds. 0 where the header does not tell the size.
pub(crate) fn decoding_bytes(bytes: &[u8], format: Format, rgb: bool) -> u64 {
    let pixels = |(height, width): (usize, usize)| (height as u64).saturating_mul(width as u64);
    let declared = size(bytes, format).map_or(0, pixels);
    match format {
        Format::Jpeg => match jpeg::header(bytes) {
            Ok([_, _, 1]) if !rgb => declared.saturating_add(jpeg::parts(bytes).coefficients),
            Ok(_) => declared.saturating_mul(3).saturating_add(jpeg::parts(bytes).coefficients),
            Err(_) => 0,
        },
        Format::Png => png::header(bytes).map_or(0, |header| header.decoding_bytes(rgb.then_some(3))),
        // The canvas, and the indices of the first frame twice.
        Format::Gif => {
            declared.saturating_mul(3).saturating_add(gif_frame(bytes).map_or(0, pixels).saturating_mul(2))
        }
        Format::Bmp => declared.saturating_mul(4),
        // The decoder's own planes or colours, and the pixels.
        Format::WebP => declared.saturating_mul(12),
        Format::JpegXl => 0,
    }
}

/// Decodes a picture as `decode_image` does, of an animation all frames or the first.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn decode_own(bytes: &[u8], expand: bool, into: &mut dyn Output<u8>) -> Result<(), String> {
    let options = DecodeOptions { expand_animations: expand, ..DecodeOptions::default() };
    decode(bytes, &options, Target::U8(into)).map_err(|error| undecodable(bytes, &error.to_string()))
}

/// What is wrong with a picture that a decoder refused with this error.
pub(crate) fn undecodable(bytes: &[u8], error: &str) -> String {
    match sniff(bytes) {
        Some(Format::Jpeg) => jpeg::undecodable(bytes, error),
        _ => error.to_owned(),
    }
}

/// Decodes a picture as `decode_image` does, into memory that is used again.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn check(bytes: &[u8], into: &mut Image<u8>) -> Result<(), String> {
    decode_own(bytes, true, into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_image::png;

    #[test]
    fn sizes_come_from_headers() {
        let mut gif = b"GIF89a".to_vec();
        gif.extend([5, 0, 3, 0, 0, 0, 0]);
        assert_eq!(recognise(&gif), Some(Picture { format: Format::Gif, size: Some((3, 5)) }));
        assert_eq!(recognise(b"BM is no bitmap, but the beginning of a text"), None);
        assert_eq!(recognise(b"hello"), None);
        let damaged = [&b"\xff\xd8\xff\xe0"[..], &[0; 40]].concat();
        assert_eq!(recognise(&damaged), Some(Picture { format: Format::Jpeg, size: None }));
        assert!(check(&damaged, &mut Image::default()).is_err());
        let png = png::encode::<u8>(&[7; 2 * 3 * 3], 2, 3, 3, -1).unwrap();
        assert_eq!(recognise(&png), Some(Picture { format: Format::Png, size: Some((2, 3)) }));
        let mut image = Image::default();
        check(&png, &mut image).unwrap();
        assert_eq!((image.shape.as_slice(), image.data[0]), (&[2, 3, 3][..], 7));
    }
}
