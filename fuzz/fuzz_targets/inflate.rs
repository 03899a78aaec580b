//! Decompressing gzip and zlib streams.
#![no_main]

use gristmill_record::{Compression, Inflater};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut output = [0; 4096];
    for compression in [Compression::Gzip, Compression::Zlib] {
        let mut inflater = Inflater::new(data, compression);
        // Deflate makes about a thousand bytes out of one: enough to see everything of small inputs.
        for _ in 0..256 {
            match inflater.read_some(&mut output) {
                Ok(n) if n > 0 => assert!(n <= output.len()),
                _ => break,
            }
        }
    }
});
