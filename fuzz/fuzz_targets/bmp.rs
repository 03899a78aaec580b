//! Decoding BMP to every number of channels.
#![no_main]

use gristmill_fuzz::Room;
use gristmill_image::bmp::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for channels in [0, 3, 4] {
        let _ = decode(data, channels, &mut Room::default());
    }
});
