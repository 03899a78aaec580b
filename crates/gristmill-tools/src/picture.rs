//! Pictures inside records: told by their first bytes, measured by their headers.

use gristmill_image::decode_any::{DecodeOptions, Target, decode};
use gristmill_image::{Format, Image, jpeg, sniff};

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
        Format::Jpeg => jpeg::shape(bytes).ok().map(|[height, width, _]| (height, width)),
        Format::Png => (bytes.get(12..16)? == b"IHDR")
            .then_some(())
            .and_then(|()| Some((u32_be(bytes, 20)?, u32_be(bytes, 16)?))),
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

/// Decodes a picture as `decode_image` does, into memory that is used again.
///
/// # Errors
/// The decoder's words.
pub(crate) fn check(bytes: &[u8], into: &mut Image<u8>) -> Result<(), String> {
    let options = DecodeOptions { expand_animations: true, ..DecodeOptions::default() };
    decode(bytes, &options, Target::U8(into)).map_err(|error| error.to_string())
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
