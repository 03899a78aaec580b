//! Parsing Examples by a spec, one by one and as a batch, and decoding them whole. A batch whose records look
//! alike is read by their common form: what comes out must be what single records give.
#![no_main]

use gristmill_example::{Example, FeatureSpec, Parser, Records};
use gristmill_types::{Bytes, DType, Tensor, Value};
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

static MIXED: OnceLock<Parser> = OnceLock::new();
static DENSE: OnceLock<Parser> = OnceLock::new();

fn dense() -> Vec<FeatureSpec> {
    vec![
        FeatureSpec::fixed("i", DType::I64, &[]),
        FeatureSpec::fixed_or("f", &[2], Tensor::vector(&[0.5f32, 1.5])),
        FeatureSpec::fixed_or("s", &[], Tensor::string("none")),
    ]
}

fn mixed() -> Vec<FeatureSpec> {
    let mut specs = dense();
    specs.extend([FeatureSpec::var_len("v", DType::I64), FeatureSpec::var_len("b", DType::String)]);
    specs
}

/// The batch fails where a record does; otherwise its rows are the records' values.
fn compare(parser: &Parser, records: &[Bytes]) {
    let all = Records::of(&Tensor::string_vector(records.to_vec())).expect("small records");
    let singles: Result<Vec<Vec<Value>>, _> = records.iter().map(|r| parser.parse_single(r)).collect();
    let batch = parser.parse_batch(&all, None);
    assert_eq!(singles.is_ok(), batch.is_ok());
    let (Ok(singles), Ok(batch)) = (singles, batch) else { return };
    for (k, column) in batch.iter().enumerate() {
        if let Value::Tensor(column) = column {
            for (i, single) in singles.iter().enumerate() {
                assert_eq!(single[k].tensor().expect("dense in a batch, dense alone"), &column.row(i));
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    // The first byte says where one record ends and another begins.
    let (cut, data) = data.split_first().unwrap_or((&0, data));
    let (first, second) = data.split_at(data.len() * usize::from(*cut) / 255);
    let (first, second) = (Bytes::copy_from(first), Bytes::copy_from(second));
    let records = [first.clone(), first.clone(), second.clone(), first];
    compare(MIXED.get_or_init(|| Parser::new(&mixed()).expect("a valid spec")), &records);
    compare(DENSE.get_or_init(|| Parser::new(&dense()).expect("a valid spec")), &records);
    if let Ok(example) = Example::decode(&second) {
        let encoded = example.encode();
        let again = Example::decode(&encoded.as_slice().into()).expect("own bytes decode");
        assert_eq!(again.encode(), encoded);
    }
});
