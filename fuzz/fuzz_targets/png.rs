//! Decoding PNG to every number of channels and both depths.
#![no_main]

use gristmill_fuzz::Room;
use gristmill_image::png::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for channels in 0..=4 {
        let _ = decode::<u8>(data, channels, &mut Room::default());
    }
    let _ = decode::<u16>(data, 0, &mut Room::default());
});
