//! Decoding whatever format the first bytes say, to every dtype.
#![no_main]

use gristmill_fuzz::Room;
use gristmill_image::decode_any::{DecodeOptions, Target, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let options = DecodeOptions::default();
    let _ = decode(data, &options, Target::U8(&mut Room::default()));
    let _ = decode(data, &options, Target::U16(&mut Room::default()));
    let _ = decode(data, &options, Target::F32(&mut Room::default()));
});
