//! Tables of photos as `pack` reads them: CSV, TSV and JSON lines.
#![no_main]

use gristmill_tools::pack::manifest::{Format, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for format in [Format::Csv, Format::Tsv, Format::JsonLines] {
        let _ = check(data, format);
    }
});
