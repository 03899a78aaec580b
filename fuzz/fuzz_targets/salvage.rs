//! Finding intact records in damaged bytes: every byte is accounted for once, in order.
#![no_main]

use gristmill_record::{Event, Salvager};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut salvager = Salvager::of_bytes(data);
    let mut at = 0;
    while let Some(event) = salvager.next_event() {
        match event {
            Event::Record { offset, payload } => {
                assert_eq!(offset, at);
                at += payload.len() as u64 + 16;
            }
            Event::Lost(lost) => {
                assert!(lost.start == at && lost.end > at);
                at = lost.end;
            }
        }
    }
    assert_eq!(at, data.len() as u64);
});
