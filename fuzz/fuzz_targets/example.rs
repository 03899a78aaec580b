//! Parsing Examples by a spec, one by one and as a batch, and decoding them whole.
#![no_main]

use gristmill_example::{Example, FeatureSpec, Parser};
use gristmill_types::{Bytes, DType, Tensor};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static PARSER: OnceLock<Parser> = OnceLock::new();

fn parser() -> Parser {
    let specs = [
        FeatureSpec::fixed("i", DType::I64, &[]),
        FeatureSpec::fixed_or("f", &[2], Tensor::vector(&[0.5f32, 1.5])),
        FeatureSpec::fixed_or("s", &[], Tensor::string("none")),
        FeatureSpec::var_len("v", DType::I64),
        FeatureSpec::var_len("b", DType::String),
    ];
    Parser::new(&specs).expect("a valid spec")
}

fuzz_target!(|data: &[u8]| {
    let record = Bytes::copy_from(data);
    let parser = PARSER.get_or_init(parser);
    let one = parser.parse_single(&record).is_ok();
    assert_eq!(
        one,
        parser
            .parse_batch(std::slice::from_ref(&record), None)
            .is_ok()
    );
    if let Ok(example) = Example::decode(&record) {
        let encoded = example.encode();
        let again = Example::decode(&encoded.as_slice().into()).expect("own bytes decode");
        assert_eq!(again.encode(), encoded);
    }
});
