//! Whatever the bytes are, a decoder gives an image or an error.
// Helpers outside of #[test] functions fail tests as well.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use gristmill_image::decode_any::{DecodeOptions, Op, Target, decode};
use gristmill_image::jpeg::{self, Crop, EncodeOptions, JpegOptions};
use gristmill_image::{Error, Output, Result, png};
use proptest::prelude::*;

/// Refuses large images, so that a mutated header costs no time.
struct Small(Vec<u8>);

impl Output<u8> for Small {
    fn slot(&mut self, shape: &[usize]) -> Result<&mut [u8]> {
        if shape.iter().product::<usize>() > 1 << 20 {
            return Err(Error::Output("too large for this test".to_owned()));
        }
        self.0.slot(shape)
    }
}

fn gif() -> Vec<u8> {
    // Two frames of 2 x 2 pixels, the second with a transparent colour.
    let mut file = b"GIF89a\x02\0\x02\0\x81\0\0\x01\x02\x03\x10\x20\x30\x40\x50\x60\xff\xff\xff".to_vec();
    file.extend_from_slice(b",\0\0\0\0\x02\0\x02\0\0\x02\x03\x44\x02\x05\0");
    file.extend_from_slice(b"!\xf9\x04\x01\0\0\x01\0,\0\0\0\0\x02\0\x02\0\0\x02\x03\x44\x02\x05\0;");
    file
}

fn bmp() -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0".to_vec();
    file.resize(54 + 16, 7);
    file
}

fn webp() -> Vec<u8> {
    let pixels: Vec<u8> = (0..24 * 20 * 4).map(|i| (i * 31 % 251) as u8).collect();
    let mut file = Vec::new();
    image_webp::WebPEncoder::new(&mut file).encode(&pixels, 24, 20, image_webp::ColorType::Rgba8).unwrap();
    file
}

fn seeds() -> Vec<Vec<u8>> {
    let pixels: Vec<u8> = (0..24 * 20 * 3).map(|i| (i * 31 % 251) as u8).collect();
    let progressive = EncodeOptions { progressive: true, ..Default::default() };
    vec![
        jpeg::encode(&pixels, 24, 20, 3, &EncodeOptions::default()).unwrap(),
        jpeg::encode(&pixels, 24, 20, 3, &progressive).unwrap(),
        jpeg::encode(&pixels, 24, 60, 1, &EncodeOptions::default()).unwrap(),
        png::encode(&pixels, 24, 20, 3, -1).unwrap(),
        png::encode(&pixels, 30, 12, 4, 1).unwrap(),
        gif(),
        bmp(),
        webp(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn mutated_files(
        which in 0..8usize,
        cut in prop::option::of(0.0..1.0f64),
        changes in prop::collection::vec((0.0..1.0f64, any::<u8>()), 0..6),
        recover in any::<bool>(),
        crop in any::<bool>(),
        ratio in prop::sample::select(vec![1, 2, 8]),
    ) {
        let mut file = seeds().swap_remove(which);
        for (at, value) in changes {
            let at = (at * file.len() as f64) as usize;
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate((cut * file.len() as f64) as usize);
        }
        let crop = crop.then_some(Crop { y: 3, x: 5, height: 7, width: 9 });
        let jpeg = JpegOptions {
            try_recover_truncated: recover, acceptable_fraction: 0.3, ratio, crop, ..Default::default()
        };
        for op in [Op::DecodeImage, Op::DecodeJpeg, Op::DecodeGif] {
            let options = DecodeOptions { op, jpeg, ..Default::default() };
            let _ = decode(&file, &options, Target::U8(&mut Small(Vec::new())));
        }
        let _ = jpeg::shape(&file);
    }

    #[test]
    fn noise_after_a_signature(which in 0..8usize, keep in 2..40usize, noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut file = seeds().swap_remove(which);
        file.truncate(keep);
        file.extend(noise);
        let _ = decode(&file, &DecodeOptions::default(), Target::U8(&mut Small(Vec::new())));
    }
}

#[test]
fn seeds_decode() {
    for (i, file) in seeds().iter().enumerate() {
        let result = decode(file, &DecodeOptions::default(), Target::U8(&mut Small(Vec::new())));
        assert_eq!(result, Ok(()), "seed {i}");
    }
}
