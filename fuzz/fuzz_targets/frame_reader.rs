//! Reading records from a stream: plain or compressed as its first bytes say. Looking for a header.
#![no_main]

use gristmill_record::frame::{HEADER_BYTES, find_header, parse_header};
use gristmill_record::{ReaderOptions, RecordReader};
use libfuzzer_sys::fuzz_target;

/// The first header, looked for at every place.
fn first_header(data: &[u8]) -> Option<usize> {
    data.windows(HEADER_BYTES).position(|window| {
        let header = window.try_into().expect("windows have that size");
        parse_header(header, 0).is_ok_and(|length| length < 1 << 32)
    })
}

fuzz_target!(|data: &[u8]| {
    assert_eq!(find_header(data, usize::MAX), first_header(data));
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
