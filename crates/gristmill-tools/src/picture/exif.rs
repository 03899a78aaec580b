//! The orientation that Exif data tell of.

use gristmill_image::Format;

use super::{jpeg, png};

/// The orientation, 1 to 8; 1 where there are no Exif data.
pub(crate) fn orientation(contents: &[u8], format: Format) -> u8 {
    let data = match format {
        Format::Jpeg => jpeg::parts(contents).exif,
        Format::Png => png::exif(contents),
        Format::WebP => webp(contents),
        Format::Gif | Format::Bmp | Format::JpegXl => None,
    };
    data.map_or(1, parse)
}

/// The Exif data of a WebP: the chunk `EXIF`, with or without JPEG's prefix.
fn webp(contents: &[u8]) -> Option<&[u8]> {
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

fn parse(data: &[u8]) -> u8 {
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
