use super::*;
use crate::{Error, Image};

fn gradient(h: usize, w: usize, c: usize) -> Vec<u8> {
    (0..h * w * c).map(|i| (i / c % w * 7 + i / c / w * 5 + i % c * 60) as u8).collect()
}

fn decoded(contents: &[u8], options: &JpegOptions) -> crate::Result<Image<u8>> {
    let mut image = Image::default();
    decode(contents, options, &mut image)?;
    Ok(image)
}

#[test]
fn library_is_turbo_3_with_simd() {
    assert_eq!(library_version().0, 3, "libjpeg-turbo 3 is built in, found {:?}", library_version());
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    assert!(simd_in_use());
}

#[test]
fn encode_and_decode_keep_a_flat_image() {
    let pixels = vec![200; 20 * 30 * 3];
    let bytes = encode(&pixels, 20, 30, 3, &EncodeOptions::default()).unwrap();
    assert!(is_jpeg(&bytes));
    assert_eq!(shape(&bytes).unwrap(), [20, 30, 3]);
    let image = decoded(&bytes, &JpegOptions::default()).unwrap();
    assert_eq!(image.shape, [20, 30, 3]);
    assert!(image.data.iter().all(|&v| v.abs_diff(200) <= 1));
}

#[test]
fn channels_and_ratio() {
    let bytes = encode(&gradient(37, 45, 3), 37, 45, 3, &EncodeOptions::default()).unwrap();
    let grey = decoded(&bytes, &JpegOptions { channels: 1, ..Default::default() }).unwrap();
    assert_eq!(grey.shape, [37, 45, 1]);
    let eighth = decoded(&bytes, &JpegOptions { ratio: 8, ..Default::default() }).unwrap();
    assert_eq!(eighth.shape, [5, 6, 3]);
    let grey_file = encode(&gradient(9, 9, 1), 9, 9, 1, &EncodeOptions::default()).unwrap();
    let rgb = decoded(&grey_file, &JpegOptions { channels: 3, ..Default::default() }).unwrap();
    assert!(rgb.data.chunks(3).all(|p| p[0] == p[1] && p[1] == p[2]));
}

#[test]
fn crop_is_a_part_of_the_whole_without_subsampling() {
    let options = EncodeOptions { chroma_downsampling: false, ..Default::default() };
    let bytes = encode(&gradient(37, 45, 3), 37, 45, 3, &options).unwrap();
    let whole = decoded(&bytes, &JpegOptions::default()).unwrap();
    let crop = Crop { y: 5, x: 7, height: 20, width: 31 };
    let part = decoded(&bytes, &JpegOptions { crop: Some(crop), ..Default::default() }).unwrap();
    assert_eq!(part.shape, [20, 31, 3]);
    for y in 0..20 {
        let at = ((y + 5) * 45 + 7) * 3;
        assert_eq!(part.data[y * 93..(y + 1) * 93], whole.data[at..at + 93], "row {y}");
    }
    for bad in
        [Crop { y: 30, x: 0, height: 20, width: 20 }, Crop { y: i32::MAX, x: 0, height: i32::MAX, width: 1 }]
    {
        let error = decoded(&bytes, &JpegOptions { crop: Some(bad), ..Default::default() }).unwrap_err();
        assert!(error.to_string().contains("Invalid JPEG data or crop window"), "{error}");
    }
}

#[test]
fn end_of_data_rules() {
    let bytes = encode(&gradient(64, 40, 3), 64, 40, 3, &EncodeOptions::default()).unwrap();
    let whole = decoded(&bytes, &JpegOptions::default()).unwrap();
    let open = &bytes[..bytes.len() - 2];
    let recover = JpegOptions { try_recover_truncated: true, ..Default::default() };
    assert!(decoded(open, &JpegOptions::default()).is_err());
    assert_eq!(decoded(open, &recover).unwrap(), whole);

    let half = &bytes[..bytes.len() / 2];
    assert!(decoded(half, &JpegOptions::default()).is_err());
    assert_eq!(decoded(half, &recover).unwrap().data[..120], whole.data[..120]);
    let part = decoded(half, &JpegOptions { acceptable_fraction: 0.1, ..Default::default() }).unwrap();
    assert_eq!(part.data[..120], whole.data[..120]);
    assert!(part.data[63 * 120..].iter().all(|&v| v == 0), "rows after the end are 0");
}

/// The search for a marker read the padding at the end again and again.
#[test]
fn padding_at_the_end_ends() {
    let options = EncodeOptions { progressive: true, ..Default::default() };
    let file = encode(&gradient(24, 20, 3), 24, 20, 3, &options).unwrap();
    let markers =
        |name: u8| file.windows(2).enumerate().filter(move |(_, w)| *w == [0xFF, name]).map(|(i, _)| i);
    let second_scan = markers(0xDA).nth(1).unwrap();
    let recover = JpegOptions { try_recover_truncated: true, ..Default::default() };
    for cut in [second_scan, markers(0xC2).next().unwrap(), 2] {
        let padded = [&file[..cut], &[0xFF; 3]].concat();
        let found = decoded(&padded, &recover).map(|image| image.shape);
        assert_eq!(found.ok(), (cut == second_scan).then(|| vec![24, 20, 3]), "cut at {cut}");
    }
}

#[test]
fn words_of_errors() {
    let words = |contents: &[u8], options: &JpegOptions| decoded(contents, options).unwrap_err().to_string();
    let default = JpegOptions::default();
    assert!(words(b"", &default).contains("jpeg::Uncompress failed. Invalid JPEG data or crop window."));
    assert!(words(b"\xff\xd8\xff\xe0", &default).contains("Invalid JPEG"));
    let ratio = words(b"", &JpegOptions { ratio: 3, ..default });
    assert_eq!(ratio, "ratio must be 1, 2, 4, or 8, got 3");
    let channels = words(b"", &JpegOptions { channels: 2, ..default });
    assert_eq!(channels, "`channels` must be 0, 1, 3 or 4 but got 2");
    assert!(shape(b"\xff\xd8").unwrap_err().to_string().contains("Invalid JPEG data, size 2"));
    assert!(DctMethod::from_name("SLOW").unwrap_err().to_string().contains("dct_method must be one of"));
}

#[test]
fn encoder_checks_its_arguments() {
    let words = |c: usize, options: &EncodeOptions| {
        encode(&vec![0; 25 * c], 5, 5, c, options).unwrap_err().to_string()
    };
    assert_eq!(words(4, &EncodeOptions::default()), "image must have 1 or 3 channels, got [5,5,4]");
    let rgb = EncodeOptions { format: EncodeFormat::Rgb, ..Default::default() };
    assert_eq!(words(1, &rgb), "format rgb expects 3 channels, got [5,5,1]");
    let quality = EncodeOptions { quality: 101, ..Default::default() };
    assert_eq!(words(3, &quality), "quality must be in [0,100], got 101");
    assert!(encode(&[], 0, 5, 3, &EncodeOptions::default()).is_err());
    assert!(encode(&[0; 3], 1, 2, 3, &EncodeOptions::default()).is_err());
    let xmp = EncodeOptions { xmp_metadata: vec![b' '; 70_000], ..Default::default() };
    assert!(words(3, &xmp).contains("JPEG encoding failed"));
}

#[test]
fn output_of_a_wrong_size_is_refused() {
    struct Narrow([u8; 3]);
    impl crate::Output<u8> for Narrow {
        fn slot(&mut self, _: &[usize]) -> crate::Result<&mut [u8]> {
            Ok(&mut self.0)
        }
    }
    let bytes = encode(&gradient(5, 5, 3), 5, 5, 3, &EncodeOptions::default()).unwrap();
    let error = decode(&bytes, &JpegOptions::default(), &mut Narrow([0; 3])).unwrap_err();
    assert!(matches!(error, Error::Output(_)), "{error}");
}
