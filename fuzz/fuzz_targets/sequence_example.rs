//! Parsing SequenceExamples by a spec, and decoding them whole.
#![no_main]

use gristmill_example::{FeatureKind, FeatureSpec, SequenceExample, SequenceParser};
use gristmill_types::{Bytes, DType, PartialShape};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static PARSER: OnceLock<SequenceParser> = OnceLock::new();

fn parser() -> SequenceParser {
    let steps = FeatureKind::FixedLenSequence {
        dtype: DType::I64,
        shape: PartialShape::scalar(),
        allow_missing: true,
        default: None,
    };
    let ragged = FeatureKind::Ragged {
        dtype: DType::F32,
        value_key: None,
        partitions: Vec::new(),
        row_splits_dtype: DType::I32,
    };
    let context = [FeatureSpec::var_len("c", DType::String)];
    let sequence = [
        FeatureSpec {
            name: "t".into(),
            kind: steps,
        },
        FeatureSpec {
            name: "r".into(),
            kind: ragged,
        },
        FeatureSpec::var_len("v", DType::F32),
    ];
    SequenceParser::new(&context, &sequence).expect("a valid spec")
}

fuzz_target!(|data: &[u8]| {
    let record = Bytes::copy_from(data);
    let parser = PARSER.get_or_init(parser);
    // Results differ in what they refuse only by the messages; here they must just end.
    let _ = parser.parse_single(&record);
    let _ = parser.parse_batch(&[record.clone(), record.clone()], None);
    if let Ok(example) = SequenceExample::decode(&record) {
        let encoded = example.encode();
        let again = SequenceExample::decode(&encoded.as_slice().into()).expect("own bytes decode");
        assert_eq!(again.encode(), encoded);
    }
});
