//! Decoding WebP, all frames and the first.
#![no_main]

use gristmill_fuzz::Room;
use gristmill_image::webp::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for expand in [true, false] {
        let _ = decode(data, 0, expand, &mut Room::default());
    }
});
