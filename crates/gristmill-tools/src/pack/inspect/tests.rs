use super::*;
use gristmill_image::jpeg::{EncodeOptions, encode};
use gristmill_image::png::encode as encode_png;

/// A JPEG with noise, so that it has some length.
pub(crate) fn photo(height: usize, width: usize, seed: u32) -> Vec<u8> {
    let noise = |i: usize| {
        ((i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) >> 24) as u8
    };
    let pixels: Vec<u8> = (0..height * width * 3).map(|i| noise(i) / 4 + (i / 7 % 128) as u8).collect();
    encode(&pixels, height, width, 3, &EncodeOptions::default()).unwrap()
}

/// The same JPEG with an Exif segment that has an orientation.
pub(crate) fn with_orientation(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let tiff = exif_data(orientation);
    let mut out = jpeg[..2].to_vec();
    out.extend([0xff, 0xe1]);
    out.extend(((2 + 6 + tiff.len()) as u16).to_be_bytes());
    out.extend(b"Exif\0\0");
    out.extend(tiff);
    out.extend(&jpeg[2..]);
    out
}

fn exif_data(orientation: u8) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x01\0".to_vec();
    tiff.extend([0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]);
    tiff
}

fn look(contents: &[u8]) -> Result<Facts, String> {
    inspect(contents, false, &mut Pixels::new(1 << 20), &Memory::new(1 << 30))
}

#[test]
fn headers_are_read() {
    let jpeg = photo(20, 30, 1);
    let facts = |format, orientation| Facts { format, height: 20, width: 30, orientation };
    assert_eq!(look(&jpeg).unwrap(), facts(Format::Jpeg, 1));
    for orientation in 1..=8 {
        assert_eq!(look(&with_orientation(&jpeg, orientation)).unwrap(), facts(Format::Jpeg, orientation));
    }
    assert_eq!(look(&with_orientation(&jpeg, 99)).unwrap(), facts(Format::Jpeg, 1));
    let png = encode_png(&[5u8; 20 * 30], 20, 30, 1, -1).unwrap();
    assert_eq!(look(&png).unwrap(), facts(Format::Png, 1));
    let mut turned = png[..33].to_vec();
    let exif = exif_data(6);
    turned.extend((exif.len() as u32).to_be_bytes());
    let chunk = [&b"eXIf"[..], &exif].concat();
    turned.extend(&chunk);
    turned.extend(png::crc(&chunk).to_be_bytes());
    turned.extend(&png[33..]);
    assert_eq!(look(&turned).unwrap(), facts(Format::Png, 6));
    let mut bmp = vec![0; 54 + 4];
    bmp[..2].copy_from_slice(b"BM");
    (bmp[10], bmp[18], bmp[22], bmp[28]) = (54, 1, 1, 24);
    assert_eq!(look(&bmp).unwrap(), Facts { format: Format::Bmp, height: 1, width: 1, orientation: 1 });
}

#[test]
fn damage_is_found_without_decoding_every_image() {
    let jpeg = photo(64, 64, 2);
    assert!(
        look(&jpeg[..jpeg.len() / 2]).unwrap_err().contains("rows"),
        "{:?}",
        look(&jpeg[..jpeg.len() / 2])
    );
    assert!(look(&jpeg[..20]).unwrap_err().starts_with("the JPEG is cut off in its header"));
    let appended = [&jpeg[..], b"a preview"].concat();
    assert_eq!(look(&appended).unwrap().height, 64);
    let png = encode_png(&[5u8; 20 * 30], 20, 30, 1, -1).unwrap();
    assert!(look(&png[..png.len() - 14]).is_err());
    let mut damaged = png.clone();
    damaged[18] ^= 1;
    assert_eq!(look(&damaged).unwrap_err(), "the PNG header is damaged or cut off");
    assert!(look(&png[..20]).unwrap_err().contains("cut off"));
}

#[test]
fn what_is_no_image_is_named() {
    let words = |bytes: &[u8]| look(bytes).unwrap_err();
    assert_eq!(words(b""), "the file is empty");
    assert_eq!(words(b"hello\nworld"), "not an image but text: it begins with 'hello\\nworld'");
    assert!(words(b"\0\x01\x02").starts_with("not an image but unknown bytes"));
    assert!(words(b"II*\0rest").contains("TIFF"));
    assert!(words(b"\0\0\0\x18ftypheic").contains("HEIC"));
    assert!(words(b"\xff\x0a").contains("JPEG XL"));
}

#[test]
fn names_promise_formats() {
    assert_eq!(format_of_name(b"a/b.JPeG"), Some(Format::Jpeg));
    assert_eq!(format_of_name(b"a.webp"), Some(Format::WebP));
    for name in [&b"jpg"[..], b"a.jpg.txt", b"a.tiff", b"", b"a."] {
        assert_eq!(format_of_name(name), None);
    }
}

#[test]
fn hostile_headers_do_no_harm() {
    let jpeg = with_orientation(&photo(8, 8, 3), 6);
    let png = encode_png(&[5u8; 12], 3, 4, 1, -1).unwrap();
    for file in [&jpeg, &png] {
        for at in 0..file.len().min(400) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = file.clone();
                changed[at] = value;
                let _ = look(&changed);
                let _ = look(&changed[..at]);
            }
        }
    }
}

#[test]
fn only_what_reads_as_text_is_called_text() {
    assert_eq!(what_else(b"hello"), "not an image but text: it begins with 'hello'");
    assert!(what_else("ä".repeat(300).as_bytes()).contains("but text"));
    assert!(what_else(&[b"x", "ä".repeat(300).as_bytes()].concat()).contains("but text"));
    assert!(what_else(b"\xff\xd8").contains("unknown bytes"));
    assert!(what_else(b"\xc3").contains("unknown bytes"));
}
