//! Splitting CSV records, with quotes and without.
#![no_main]

use gristmill_fuzz::run_op;
use gristmill_plan::{Attr, Attrs};
use gristmill_types::Tensor;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let inputs = [
        Tensor::string(data),
        Tensor::scalar(0i32),
        Tensor::scalar(0f32),
        Tensor::string(""),
    ];
    for quotes in [true, false] {
        let attrs = Attrs::default().with("use_quote_delim", Attr::Bool(quotes));
        let _ = run_op("io.decode_csv", &inputs.clone().map(Into::into), &attrs);
    }
});
