//! The look at an image's bytes: format, size, orientation, and whether the file is whole.

use gristmill_image::{Format, Output, sniff};

use super::memory::Memory;
use super::transform::{Pixels, beyond_flight};
use crate::picture::{self, exif, jpeg, png};

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
    let (size, whole) = match format {
        Format::Jpeg => {
            let [height, width, _] = jpeg::header(contents)?;
            (Some((height, width)), jpeg::ends(contents, jpeg::parts(contents).scan))
        }
        Format::Png => {
            let header = png::header(contents)?;
            (Some((header.height, header.width)), contents.ends_with(png::END))
        }
        Format::Gif | Format::Bmp | Format::WebP | Format::JpegXl => (None, false),
    };
    let (height, width) = match size {
        Some(size) if whole && !full => size,
        _ => {
            let bytes = picture::decoding_bytes(contents, format, false);
            let _room = memory.take(bytes.saturating_add(beyond_flight(contents)), size)?;
            picture::decode_own(contents, false, pixels)?;
            let size = (pixels.height(), pixels.width());
            pixels.trim();
            size
        }
    };
    Ok(Facts { format, height, width, orientation: exif::orientation(contents, format) })
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

impl Output<u8> for Pixels {
    fn slot(&mut self, shape: &[usize]) -> gristmill_image::Result<&mut [u8]> {
        Ok(self.take(shape))
    }
}

#[cfg(test)]
pub(crate) mod tests;
