//! Decoding GIF, all frames and the first.
#![no_main]

use gristmill_fuzz::Room;
use gristmill_image::gif::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for expand in [true, false] {
        let shape = |frames, height, width| Ok(vec![frames, height, width, 3]);
        let _ = decode(data, expand, shape, &mut Room::default());
    }
});
