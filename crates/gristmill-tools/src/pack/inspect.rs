//! The look at an image's bytes: format, size, orientation, and whether the file is whole.

use gristmill_image::decode_any::{DecodeOptions, Target, decode};
use gristmill_image::{Format, MAX_SAMPLES, Output, jpeg, sniff};

use super::memory::Memory;
use super::transform::Pixels;
use crate::picture;

/// What is known of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) format: Format,
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// The Exif orientation, 1 to 8; 1 where there is none.
    pub(crate) orientation: u8,
}

/// The format that a file's name promises.
pub(crate) fn format_of_name(name: &[u8]) -> Option<Format> {
    let dot = name.iter().rposition(|&b| b == b'.')?;
    let extension = name[dot + 1..].to_ascii_lowercase();
    Some(match extension.as_slice() {
        b"jpg" | b"jpeg" | b"jpe" | b"jfif" => Format::Jpeg,
        b"png" => Format::Png,
        b"gif" => Format::Gif,
        b"bmp" | b"dib" => Format::Bmp,
        b"webp" => Format::WebP,
        _ => return None,
    })
}

/// Looks at an image. The header is always read; with `full`, and whenever the end of the file does not show that it is
/// whole, the image is decoded too (by TensorFlow's rules) into `pixels`, once `memory` has room for it.
///
/// # Errors
/// Why the image cannot be used, in words.
pub(crate) fn inspect(
    contents: &[u8],
    full: bool,
    pixels: &mut Pixels,
    memory: &Memory,
) -> Result<Facts, String> {
    let format = sniff(contents).ok_or_else(|| what_else(contents))?;
    let (size, whole, orientation) = match format {
        Format::Jpeg => {
            let [height, width, channels] = jpeg::shape(contents).map_err(|e| e.to_string())?;
            if channels == 2 || (height * width).saturating_mul(channels) as u64 >= MAX_SAMPLES {
                return Err(format!("a JPEG of shape [{height},{width},{channels}] cannot be decoded"));
            }
            let parts = jpeg_parts(contents);
            let orientation = parts.exif.map_or(1, orientation);
            (Some((height, width)), ends(contents, parts.scan), orientation)
        }
        Format::Png => {
            let size = png_size(contents)?;
            let orientation = png_exif(contents).map_or(1, orientation);
            (Some(size), contents.ends_with(PNG_END), orientation)
        }
        Format::WebP => (None, false, webp_exif(contents).map_or(1, orientation)),
        Format::Gif | Format::Bmp | Format::JpegXl => (None, false, 1),
    };
    let (height, width) = match size {
        Some(size) if whole && !full => size,
        _ => {
            let declared = size.or_else(|| picture::recognise(contents)?.size).unwrap_or((0, 0));
            let _room = memory.take((declared.0 as u64).saturating_mul(declared.1 as u64).saturating_mul(4));
            decode_own(contents, pixels)?;
            let size = (pixels.height(), pixels.width());
            pixels.trim();
            size
        }
    };
    Ok(Facts { format, height, width, orientation })
}

/// Decodes with the file's own channels, the first frame of animations.
pub(crate) fn decode_own(contents: &[u8], pixels: &mut Pixels) -> Result<(), String> {
    let options = DecodeOptions { expand_animations: false, ..Default::default() };
    decode(contents, &options, Target::U8(pixels)).map_err(|e| e.to_string())
}

/// Words for bytes that are no image.
fn what_else(contents: &[u8]) -> String {
    let head = &contents[..contents.len().min(512)];
    if contents.is_empty() {
        return "the file is empty".into();
    }
    let known: [(&[u8], &str); 5] = [
        (b"II*\0", "a TIFF file, which is not decoded here"),
        (b"MM\0*", "a TIFF file, which is not decoded here"),
        (b"%PDF", "a PDF file, not an image"),
        (b"PK\x03\x04", "a ZIP archive, not an image"),
        (b"\x1f\x8b", "gzip-compressed, not an image"),
    ];
    if let Some((_, words)) = known.iter().find(|(magic, _)| head.starts_with(magic)) {
        return (*words).into();
    }
    if head.get(4..8) == Some(b"ftyp") {
        return "a HEIC, AVIF or video file, which is not decoded here".into();
    }
    // A character may be cut in two at the end of what is looked at.
    let utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none() && head.len() < contents.len(),
    };
    let readable = utf8 && head.iter().all(|&b| b >= 0x20 || b.is_ascii_whitespace());
    let what = if readable { "text" } else { "unknown bytes" };
    let start = String::from_utf8_lossy(&head[..head.len().min(12)]).escape_debug().to_string();
    format!("not an image but {what}: it begins with '{start}'")
}

/// The parts of a JPEG that are of interest.
struct JpegParts<'a> {
    /// What follows `Exif\0\0`.
    exif: Option<&'a [u8]>,
    /// Where the first scan begins.
    scan: usize,
}

/// Walks over the marker segments up to the first scan.
fn jpeg_parts(contents: &[u8]) -> JpegParts<'_> {
    let mut parts = JpegParts { exif: None, scan: contents.len() };
    let mut at = 2;
    while let Some(&[0xff, marker]) = contents.get(at..at + 2) {
        match marker {
            // Fill bytes and markers without a length.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            _ => {
                let Some(&[high, low]) = contents.get(at + 2..at + 4) else { break };
                let length = usize::from(u16::from_be_bytes([high, low]));
                if length < 2 {
                    break;
                }
                if marker == 0xda {
                    parts.scan = at;
                    break;
                }
                let body = contents.get(at + 4..at + 2 + length).unwrap_or_default();
                if marker == 0xe1 && parts.exif.is_none() {
                    parts.exif = body.strip_prefix(b"Exif\0\0");
                }
                at += 2 + length;
            }
        }
    }
    parts
}

/// Whether the end-of-image marker comes after the start of the scan. It cannot be part of coded data, and what lies
/// behind it (some cameras append previews) does not matter.
fn ends(contents: &[u8], scan: usize) -> bool {
    contents.ends_with(b"\xff\xd9")
        || contents.get(scan..).is_some_and(|coded| coded.windows(2).rev().any(|pair| pair == b"\xff\xd9"))
}

/// An empty `IEND` chunk.
const PNG_END: &[u8] = b"\0\0\0\0IEND\xaeB`\x82";

/// CRC-32 of a few bytes, as PNG has it (RFC 2083, appendix 15).
fn png_crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
    })
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn png_size(contents: &[u8]) -> Result<(usize, usize), String> {
    let damaged = || "the PNG header is damaged or cut off".to_owned();
    let header = contents.get(12..29).ok_or_else(damaged)?;
    let (width, height) = (u32_be(header, 4).ok_or_else(damaged)?, u32_be(header, 8).ok_or_else(damaged)?);
    let crc = u32_be(contents, 29).ok_or_else(damaged)?;
    if !header.starts_with(b"IHDR") || crc != png_crc(header) || width == 0 || height == 0 {
        return Err(damaged());
    }
    if u64::from(width) * u64::from(height) >= MAX_SAMPLES {
        return Err(format!("a PNG of {width} x {height} pixels is too large to be decoded"));
    }
    Ok((height as usize, width as usize))
}

/// The Exif data of a PNG: the chunk `eXIf`.
fn png_exif(contents: &[u8]) -> Option<&[u8]> {
    let mut at = 8;
    loop {
        let length = u32_be(contents, at)? as usize;
        let kind = contents.get(at + 4..at + 8)?;
        if kind == b"eXIf" {
            return contents.get(at + 8..(at + 8).checked_add(length)?);
        }
        at = at.checked_add(length)?.checked_add(12)?;
    }
}

/// The Exif data of a WebP: the chunk `EXIF`, with or without JPEG's prefix.
fn webp_exif(contents: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    loop {
        let kind = contents.get(at..at + 4)?;
        let length = u32::from_le_bytes(contents.get(at + 4..at + 8)?.try_into().ok()?) as usize;
        if kind == b"EXIF" {
            let data = contents.get(at + 8..(at + 8).checked_add(length)?)?;
            return Some(data.strip_prefix(b"Exif\0\0").unwrap_or(data));
        }
        at = at.checked_add(8)?.checked_add(length.checked_next_multiple_of(2)?)?;
    }
}

/// The orientation that Exif data tell of: 1 when they tell none.
fn orientation(data: &[u8]) -> u8 {
    let parsed = exif::Reader::new()
        .continue_on_error(true)
        .read_raw(data.to_vec())
        .or_else(|error| error.distill_partial_result(|_| ()));
    let field = |exif: exif::Exif| {
        exif.get_field(exif::Tag::Orientation, exif::In::PRIMARY).and_then(|f| f.value.get_uint(0))
    };
    match parsed.ok().and_then(field) {
        Some(value @ 2..=8) => value as u8,
        _ => 1,
    }
}

impl Output<u8> for Pixels {
    fn slot(&mut self, shape: &[usize]) -> gristmill_image::Result<&mut [u8]> {
        Ok(self.take(shape))
    }
}

#[cfg(test)]
pub(crate) mod tests;
