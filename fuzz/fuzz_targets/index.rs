//! Reading index files: what is accepted is written back the same.
#![no_main]

use gristmill_record::Index;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(index) = Index::parse(data) {
        let _ = index.check_size(data.len() as u64);
        let again = Index::parse(index.to_text().as_bytes()).expect("own text is read");
        assert_eq!(again.entries(), index.entries());
    }
});
