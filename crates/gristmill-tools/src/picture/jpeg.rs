//! What a JPEG's marker segments tell, and words for what is wrong with it.

use gristmill_image::{MAX_SAMPLES, jpeg};

/// What is of interest in the segments before the image data.
pub(crate) struct Parts<'a> {
    /// What follows `Exif\0\0`.
    pub(crate) exif: Option<&'a [u8]>,
    /// Where the first scan begins; the end where there is none.
    pub(crate) scan: usize,
    /// Bytes that a decoder holds for coefficients of the whole image: 0 unless the image comes in several scans.
    pub(crate) coefficients: u64,
}

/// How the walk over the segments ended.
enum Walk<'a> {
    /// A segment: its marker, where it begins, and what follows its length.
    Segment(u8, usize, &'a [u8]),
    /// The file ends inside the segment that begins here.
    Cut(usize),
    /// There is no marker here, or a length that cannot be.
    Damage(usize),
}

/// Steps to the next segment with a length; `at` is moved behind it.
fn next<'a>(contents: &'a [u8], at: &mut usize) -> Walk<'a> {
    loop {
        match contents.get(*at..).unwrap_or_default() {
            // Fill bytes and markers without a length.
            [0xff, 0xff, ..] => *at += 1,
            [0xff, 0x01 | 0xd0..=0xd8, ..] => *at += 2,
            [0xff, 0xd9, ..] => return Walk::Damage(*at),
            [0xff, marker, high, low, ..] => {
                let (start, length) = (*at, usize::from(u16::from_be_bytes([*high, *low])));
                if length < 2 {
                    return Walk::Damage(start);
                }
                *at += 2 + length;
                return match contents.get(start + 4..*at) {
                    Some(body) => Walk::Segment(*marker, start, body),
                    None => Walk::Cut(start),
                };
            }
            [] | [0xff, ..] => return Walk::Cut(*at),
            _ => return Walk::Damage(*at),
        }
    }
}

/// The frame's header: whether it comes in several scans by its kind, and its components.
fn frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc)
}

/// Bytes of the coefficients of all components, two each.
fn coefficients(body: &[u8]) -> u64 {
    let side = |at: usize| u64::from(u16::from_be_bytes([body[at], body[at + 1]])).next_multiple_of(64);
    let Some(components) = body.get(6..) else { return 0 };
    let pixels = side(1) * side(3);
    let sampling = |c: &[u8]| (u64::from(c[1] >> 4), u64::from(c[1] & 15));
    let most = components.chunks_exact(3).map(sampling).fold((1, 1), |m, s| (m.0.max(s.0), m.1.max(s.1)));
    components.chunks_exact(3).map(sampling).map(|(h, v)| 2 * pixels * h * v / (most.0 * most.1)).sum()
}

/// Walks over the marker segments up to the first scan.
pub(crate) fn parts(contents: &[u8]) -> Parts<'_> {
    let mut parts = Parts { exif: None, scan: contents.len(), coefficients: 0 };
    let (mut at, mut held, mut components, mut progressive) = (2, 0, 0, false);
    while let Walk::Segment(marker, start, body) = next(contents, &mut at) {
        if marker == 0xda {
            parts.scan = start;
            if progressive || body.first().is_some_and(|&n| n < components) {
                parts.coefficients = held;
            }
            break;
        }
        if marker == 0xe1 && parts.exif.is_none() {
            parts.exif = body.strip_prefix(b"Exif\0\0");
        }
        if frame(marker) {
            held = coefficients(body);
            components = body.get(5).copied().unwrap_or(0);
            progressive = marker & 3 == 2;
        }
    }
    parts
}

/// Whether the end-of-image marker comes after the start of the scan. It cannot be part of coded data, and what lies
/// behind it (some cameras append previews) does not matter.
pub(crate) fn ends(contents: &[u8], scan: usize) -> bool {
    contents.ends_with(b"\xff\xd9")
        || contents.get(scan..).is_some_and(|coded| coded.windows(2).rev().any(|pair| pair == b"\xff\xd9"))
}

/// Height, width and channels of the header.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn header(contents: &[u8]) -> Result<[usize; 3], String> {
    let shape @ [height, width, channels] = jpeg::shape(contents).map_err(|e| {
        fault(contents).unwrap_or_else(|words| format!("{words} (libjpeg: {})", library(&e.to_string())))
    })?;
    if channels == 2 {
        return Err("a JPEG of two channels cannot be decoded, expected 1, 3 or 4".into());
    }
    if (height * width).saturating_mul(channels) as u64 >= MAX_SAMPLES {
        return Err(format!("a JPEG of {width} x {height} pixels is too large to be decoded"));
    }
    Ok(shape)
}

/// What is wrong with a header that cannot be read; `Err` with general words where the segments do not show it.
fn fault(contents: &[u8]) -> Result<String, String> {
    let damaged = || "the JPEG header is damaged".to_owned();
    let mut at = 2;
    let mut framed = false;
    loop {
        match next(contents, &mut at) {
            Walk::Segment(0xda, start, _) if !framed => {
                return Ok(format!("{}: the image data at byte {start} come before its size", damaged()));
            }
            Walk::Segment(0xda, ..) => return Err(damaged()),
            Walk::Segment(marker, start, body) if frame(marker) => {
                framed = true;
                let (components, sides) = (body.get(5).copied().unwrap_or(0), body.get(1..5));
                if sides.is_none_or(|s| s[..2] == [0, 0] || s[2..] == [0, 0]) {
                    return Ok(format!("{}: the frame at byte {start} has no pixels", damaged()));
                }
                let (found, expected) = (body.len(), 6 + 3 * usize::from(components));
                if found != expected {
                    let what =
                        format!("the frame at byte {start} of {components} channels has {found} bytes");
                    return Ok(format!("{}: {what}, expected {expected}", damaged()));
                }
            }
            Walk::Segment(..) => {}
            Walk::Cut(start) => {
                let end = contents.len();
                return Ok(format!(
                    "the JPEG is cut off in its header: it ends after {end} bytes, inside what begins at byte {start}"
                ));
            }
            Walk::Damage(start) => {
                return Ok(format!("{} at byte {start}: no marker stands there", damaged()));
            }
        }
    }
}

/// The library's own words out of an error of the decoder, which names TensorFlow's function and the size.
fn library(text: &str) -> &str {
    let after = |text: &'static str| move |t: &'_ str| t.find(text).map(|at| at + text.len());
    let start = after("crop window. ")(text).or_else(|| text.find(": ").map(|at| at + 2)).unwrap_or(0);
    let end = text.rfind(" (size ").filter(|&end| end >= start).unwrap_or(text.len());
    &text[start..end]
}

/// What is wrong with a JPEG that cannot be decoded, from the decoder's error.
pub(crate) fn undecodable(contents: &[u8], error: &str) -> String {
    match header(contents) {
        Err(words) => words,
        Ok(_) => match library(error) {
            // This crate's own words.
            rows if rows.starts_with("the data end") => format!("the JPEG is cut off or damaged: {rows}"),
            words => format!("the JPEG is damaged in its image data (libjpeg: {words})"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_image::jpeg::{EncodeOptions, encode};

    fn photo(progressive: bool) -> Vec<u8> {
        let pixels: Vec<u8> = (0..64 * 80 * 3).map(|i| (i * 7 % 251) as u8).collect();
        encode(&pixels, 64, 80, 3, &EncodeOptions { progressive, ..Default::default() }).unwrap()
    }

    #[test]
    fn only_images_of_several_scans_hold_coefficients() {
        assert_eq!(parts(&photo(false)).coefficients, 0);
        // 4:2:0: one and a half samples a pixel, two bytes each; 80 columns take 128.
        assert_eq!(parts(&photo(true)).coefficients, 64 * 128 * 3);
    }

    #[test]
    fn damage_is_named_in_words_of_ones_own() {
        let whole = photo(false);
        let words = |bytes: &[u8]| header(bytes).unwrap_err();
        assert_eq!(header(&whole), Ok([64, 80, 3]));
        let expected =
            "the JPEG is cut off in its header: it ends after 30 bytes, inside what begins at byte 20";
        assert_eq!(words(&whole[..30]), expected);
        let mut bytes = whole.clone();
        bytes[20] = 7;
        assert_eq!(fault(&bytes).unwrap(), "the JPEG header is damaged at byte 20: no marker stands there");
        let frame = whole.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
        let mut bytes = whole.clone();
        bytes[frame + 5..frame + 9].fill(0);
        assert!(
            words(&bytes).contains(&format!("the frame at byte {frame} has no pixels")),
            "{}",
            words(&bytes)
        );
        let mut bytes = whole.clone();
        bytes[frame + 9] = 200;
        assert!(words(&bytes).contains("of 200 channels has 15 bytes"), "{}", words(&bytes));
        let text = "jpeg::Uncompress failed. Invalid JPEG data or crop window. the data end after 3 of 64 rows (size 9)";
        assert_eq!(
            undecodable(&whole, text),
            "the JPEG is cut off or damaged: the data end after 3 of 64 rows"
        );
        let text = "jpeg::Uncompress failed. Invalid JPEG data or crop window. Bogus Huffman table (size 9)";
        assert_eq!(
            undecodable(&whole, text),
            "the JPEG is damaged in its image data (libjpeg: Bogus Huffman table)"
        );
    }
}
