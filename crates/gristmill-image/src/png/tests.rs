use super::*;
use crate::Image;

fn decoded<T: Sample>(contents: &[u8], channels: u32) -> Result<Image<T>> {
    let mut image = Image::default();
    decode(contents, channels, &mut image)?;
    Ok(image)
}

fn file(
    color: ColorType,
    depth: BitDepth,
    width: u32,
    data: &[u8],
    palette: Option<&[u8]>,
    trns: Option<&[u8]>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, 1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if let Some(p) = palette {
        encoder.set_palette(p.to_vec());
    }
    if let Some(t) = trns {
        encoder.set_trns(t.to_vec());
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    bytes
}

#[test]
fn round_trip_of_every_channel_count() {
    for c in 1..=4 {
        let pixels: Vec<u8> = (0..5 * 7 * c).map(|i| (i * 37) as u8).collect();
        let bytes = encode(&pixels, 5, 7, c, -1).unwrap();
        let image = decoded::<u8>(&bytes, 0).unwrap();
        assert_eq!((image.shape, image.data), (vec![5, 7, c], pixels));
        let wide: Vec<u16> = (0..5 * 7 * c).map(|i| (i * 7321) as u16).collect();
        let bytes = encode(&wide, 5, 7, c, 9).unwrap();
        assert_eq!(decoded::<u16>(&bytes, 0).unwrap().data, wide);
        let high: Vec<u8> = wide.iter().map(|v| (v >> 8) as u8).collect();
        assert_eq!(decoded::<u8>(&bytes, 0).unwrap().data, high, "the high byte is kept");
    }
}

#[test]
fn conversions() {
    let rgb = file(ColorType::Rgb, BitDepth::Eight, 2, &[10, 20, 30, 7, 7, 7], None, None);
    assert_eq!(decoded::<u8>(&rgb, 1).unwrap().data, [((9797 * 10 + 19234 * 20 + 3737 * 30) >> 15) as u8, 7]);
    assert_eq!(decoded::<u8>(&rgb, 4).unwrap().data, [10, 20, 30, 255, 7, 7, 7, 255]);
    assert_eq!(decoded::<u16>(&rgb, 0).unwrap().data, [2570, 5140, 7710, 1799, 1799, 1799]);
    let bits = file(ColorType::Grayscale, BitDepth::Two, 4, &[0b00_01_10_11], None, None);
    assert_eq!(decoded::<u8>(&bits, 0).unwrap().data, [0, 85, 170, 255]);
    let palette = file(ColorType::Indexed, BitDepth::Four, 2, &[0x10], Some(&[1, 2, 3, 4, 5, 6]), Some(&[9]));
    assert_eq!(decoded::<u8>(&palette, 0).unwrap().data, [4, 5, 6, 255, 1, 2, 3, 9]);
    assert_eq!(decoded::<u8>(&palette, 3).unwrap().data, [4, 5, 6, 1, 2, 3]);
    let key = file(ColorType::Grayscale, BitDepth::Eight, 2, &[5, 6], None, Some(&[0, 5]));
    assert_eq!(decoded::<u8>(&key, 0).unwrap().data, [5, 6]);
    assert_eq!(decoded::<u8>(&key, 2).unwrap().data, [5, 0, 6, 255]);
}

#[test]
fn damaged_files() {
    let bytes = encode(&[1u8, 2, 3, 4], 2, 2, 1, -1).unwrap();
    for n in 8..bytes.len() {
        let error = decoded::<u8>(&bytes[..n], 0).unwrap_err().to_string();
        assert!(error.contains("Invalid PNG"), "{n}: {error}");
    }
    let mut huge = bytes.clone();
    huge[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
    assert!(decoded::<u8>(&huge, 0).is_err());
    assert!(decoded::<u8>(&bytes, 5).is_err());
    assert!(encode(&[0u8; 5], 1, 1, 5, -1).is_err());
    assert!(encode(&[0u8; 4], 1, 1, 3, -1).is_err());
    assert!(encode(&[0u8; 3], 1, 1, 3, 10).is_err());
}

#[test]
fn grey_of_a_file_with_gamma_is_mixed_in_linear_light() {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(ColorType::Rgb);
    encoder.set_source_gamma(png::ScaledFloat::from_scaled(45_455));
    encoder.write_header().unwrap().write_image_data(&[255, 0, 0]).unwrap();
    // 255 * (0.299 of full light)^(1 / 2.2)
    assert_eq!(decoded::<u8>(&bytes, 1).unwrap().data, [147]);
    assert_eq!(decoded::<u8>(&bytes, 3).unwrap().data, [255, 0, 0]);
}
