//! Reading records from a stream: plain or compressed as its first bytes say.
#![no_main]

use gristmill_record::{ReaderOptions, RecordReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (mut buffer, mut spans) = (Vec::new(), Vec::new());
    for size in [None, Some(data.len() as u64)] {
        let options = ReaderOptions {
            size,
            ..ReaderOptions::default()
        };
        let Ok(mut reader) = RecordReader::open(data, &options) else {
            continue;
        };
        let mut before = 0;
        while let Ok(Some(chunk)) = reader.next_chunk(&mut buffer, 16, &mut spans) {
            assert!(chunk.first_index >= before && !spans.is_empty());
            before = chunk.first_index + spans.len() as u64;
            for span in &spans {
                assert!(span.of(&buffer).len() <= chunk.bytes);
            }
        }
    }
});
