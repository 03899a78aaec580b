//! Decoding JPEG, strictly and as far as the data go.
#![no_main]

use gristmill_fuzz::Room;
use gristmill_image::jpeg::{Crop, JpegOptions, decode, shape};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut room = Room::<u8>::default();
    let strict = JpegOptions::default();
    let lenient = JpegOptions {
        try_recover_truncated: true,
        ratio: 2,
        channels: 1,
        ..strict
    };
    let cropped = JpegOptions {
        crop: Some(Crop {
            y: 1,
            x: 1,
            height: 3,
            width: 5,
        }),
        ..strict
    };
    for options in [strict, lenient, cropped] {
        let _ = decode(data, &options, &mut room);
    }
    let _ = shape(data);
});
