//! Values and words are those of TensorFlow 2.21.

use super::*;
use crate::feature_spec::{FeatureKind, Partition};
use gristmill_types::{PartialShape, Ragged, Shape, Sparse};

mod many;
mod refused;
mod single;
mod templates;

/// Serialized Examples and SequenceExamples.
const RECORDS: [&str; 33] = [
    "0a680a0d0a0166120812060a040000c03f0a0a0a016912051a030a01050a0d0a016c12080a060a01610a01620a210a016d121c121a0a18000000000000803f0000004000004040000080400000a0400a0b0a017312060a040a0268690a0c0a017612071a050a03010203",
    "0a070a050a01691200",
    "0a090a070a016912021a00",
    "0a120a070a017312020a000a070a017612021a00",
    "",
    "07077a7a",
    "0a680a0d0a0166120812060a040000c03f0a0a0a016912051a030a01050a0d0a016c12080a060a01610a01620a210a016d121c121a0a18000000000000803f0000004000004040000080400000a0400a0b0a017312060a040a0268690a0c0a017612071a050a030102",
    "0a1b0a0b0a016912061a04080408050a0c0a0166120712050d0000003f",
    "0a1a0a0b0a016112061a040a0201020a0b0a016112061a040a020304",
    "0a190a0b0a016112061a040a0201020a0a0a016112051a030a0103",
    "0a180a0a0a016112050a030a01780a0a0a016112051a030a0103",
    "0a0c0a0a0a016112051a030a01010a0c0a0a0a016212051a030a0102",
    "0a110a0f0a0161120a1a030a01011a030a0102",
    "0a0c0a0a0a016112051a030a01044a0178",
    "0a0f0a0d0a016112081a030a01043a0171",
    "0a0f0a0d12051a030a01050a046c617465",
    "0a180a0a0a01ff12051a030a01010a0a0a016112051a030a0102",
    "0a0b0a090a0012051a030a0104",
    "0a1d0a0c0a017212071a050a030100030a0d0a017612081a060a0401020304",
    "0a280a0d0a02697812071a050a030301070a170a0376616c1210120e0a0c9a99993ecdcccc3d3333333f",
    "0a170a150a01661210120e0a0c0000c07f0000807f00000080",
    "0a260a0a0a016912051a030a01010a0a0a017312050a030a01610a0c0a017612071a050a03010203",
    "0a210a0a0a016912051a030a01020a0a0a017312050a030a01620a070a017612021a00",
    "0a240a0a0a016912051a030a01030a0a0a017312050a030a01630a0a0a017612051a030a0109",
    "0a00",
    "0a1b0a0b0a017212061a040a0202010a0c0a017612071a050a03010203",
    "0a120a070a017212021a000a070a017612021a00",
    "0a0f0a0d0a017612081a060a0401020304",
    "0a0d0a0b0a017612061a040a020506",
    "0a230a0c0a02697812061a040a0202000a130a0376616c120c120a0a08cdcc4c3e00000000",
    "0707",
    "0a1b0a0d0a02696412070a050a036f6e650a0a0a016e12051a030a010312740a1c0a03746f6b12150a051a030a01010a051a030a01020a051a030a01030a310a03766563122a0a0c120a0a080000803f000000400a0c120a0a0800004040000080400a0c120a0a080000a0400000c0400a210a0177121c0a0c120a0a080000003f0000c03f0a0212000a0812060a0400002040",
    "0a0f0a0d0a02696412070a050a0374776f12380a0e0a03746f6b12070a051a030a01090a150a03766563120e0a0c120a0a0800001041000010410a0f0a0177120a0a0812060a040000e040",
];

fn hex(hex: &str) -> Bytes {
    let v: Vec<u8> =
        (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
    Bytes::from(v)
}

fn r(i: usize) -> Bytes {
    hex(RECORDS[i])
}

fn i(dims: &[usize], v: &[i64]) -> Tensor {
    Tensor::from_vec(Shape::new(dims).unwrap(), v).unwrap()
}

fn i32s(dims: &[usize], v: &[i32]) -> Tensor {
    Tensor::from_vec(Shape::new(dims).unwrap(), v).unwrap()
}

fn f(dims: &[usize], v: &[f32]) -> Tensor {
    Tensor::from_vec(Shape::new(dims).unwrap(), v).unwrap()
}

fn s(dims: &[usize], v: &[&[u8]]) -> Tensor {
    Tensor::strings(Shape::new(dims).unwrap(), v.iter().map(|&b| Bytes::from(b)).collect()).unwrap()
}

fn sparse(indices: Tensor, values: Tensor, dense_shape: &[i64]) -> Value {
    Sparse { indices, values, dense_shape: Tensor::vector(dense_shape) }.into()
}

fn ragged(flat_values: Tensor, row_splits: Vec<Tensor>) -> Value {
    Ragged { flat_values, row_splits }.into()
}

fn fixed(name: &str, dtype: DType, dims: &[usize], default: Option<Tensor>) -> FeatureSpec {
    let kind = FeatureKind::FixedLen { dtype, shape: PartialShape::known(dims), default };
    FeatureSpec { name: name.into(), kind }
}

fn seq(
    name: &str,
    dtype: DType,
    dims: &[usize],
    allow_missing: bool,
    default: Option<Tensor>,
) -> FeatureSpec {
    let kind =
        FeatureKind::FixedLenSequence { dtype, shape: PartialShape::known(dims), allow_missing, default };
    FeatureSpec { name: name.into(), kind }
}

fn sparse_spec(name: &str, index: &str, value: &str, dtype: DType, size: i64) -> FeatureSpec {
    let kind = FeatureKind::Sparse {
        index_keys: vec![index.into()],
        value_key: value.into(),
        dtype,
        size: vec![size],
        already_sorted: false,
    };
    FeatureSpec { name: name.into(), kind }
}

fn ragged_spec(
    name: &str,
    dtype: DType,
    value_key: Option<String>,
    partitions: Vec<Partition>,
    row_splits_dtype: DType,
) -> FeatureSpec {
    FeatureSpec {
        name: name.into(),
        kind: FeatureKind::Ragged { dtype, value_key, partitions, row_splits_dtype },
    }
}

fn named<'a>(names: impl Iterator<Item = &'a str>, values: Vec<Value>) -> String {
    format!("{:?}", names.zip(values).collect::<Vec<_>>())
}

fn records(items: &[Bytes]) -> Records {
    Records::of(&Tensor::string_vector(items.to_vec())).unwrap()
}

/// As a block of one record, every result as a value.
fn by_block(parser: &Parser, record: &Bytes) -> Result<Vec<Value>> {
    let mut columns = vec![Vec::new(); parser.names().len()];
    let mut dest: Vec<_> = columns.iter_mut().map(ColumnDest::Values).collect();
    match parser.parse_block(&records(std::slice::from_ref(record)), &mut dest) {
        (_, Some(e)) => Err(e),
        _ => Ok(columns.into_iter().map(|mut c| c.pop().unwrap()).collect()),
    }
}

fn single(record: Bytes, specs: &[FeatureSpec], want: &[(&str, Value)]) {
    let parser = Parser::new(specs).unwrap();
    let found = parser.parse_single(&record).unwrap();
    // Every value obeys the spec given for it.
    for (value, spec) in found.iter().zip(parser.specs()) {
        assert!(
            value.spec().shape().compatible(spec.shape()) && value.dtype() == spec.dtype(),
            "{spec} {value:?}"
        );
    }
    assert_eq!(named(parser.names(), found), format!("{want:?}"));
    assert_eq!(named(parser.names(), by_block(&parser, &record).unwrap()), format!("{want:?}"));
}

fn mentions(e: &Error, words: &[&str]) {
    let text = e.to_string().to_lowercase();
    assert!(words.iter().all(|w| text.contains(&w.to_lowercase())), "{words:?}: {e}");
}

fn refused(record: Bytes, specs: &[FeatureSpec], words: &[&str]) {
    let made = Parser::new(specs);
    mentions(&made.and_then(|p| p.parse_single(&record)).unwrap_err(), words);
}

fn batch(records: &[Bytes], specs: &[FeatureSpec], want: &[(&str, Value)]) {
    let parser = Parser::new(specs).unwrap();
    let found = parser.parse_batch(&self::records(records), None).unwrap();
    for (value, spec) in found.iter().zip(parser.batch_specs(Some(records.len()))) {
        assert!(
            value.spec().shape().compatible(spec.shape()) && value.dtype() == spec.dtype(),
            "{spec} {value:?}"
        );
    }
    assert_eq!(named(parser.names(), found), format!("{want:?}"));
}

fn batch_refused(records: &[Bytes], names: Option<&[Bytes]>, specs: &[FeatureSpec], words: &[&str]) {
    mentions(&Parser::new(specs).unwrap().parse_batch(&self::records(records), names).unwrap_err(), words);
}

fn sequence(
    record: Bytes,
    context: &[FeatureSpec],
    steps: &[FeatureSpec],
    want: &[(&str, Value)],
    want_steps: &[(&str, Value)],
) {
    let parser = SequenceParser::new(context, steps).unwrap();
    let (found, found_steps) = parser.parse_single(&record).unwrap();
    for (value, spec) in found_steps.iter().zip(parser.specs()) {
        assert!(
            value.spec().shape().compatible(spec.shape()) && value.dtype() == spec.dtype(),
            "{spec} {value:?}"
        );
    }
    assert_eq!(named(parser.context().names(), found), format!("{want:?}"));
    assert_eq!(named(parser.names(), found_steps), format!("{want_steps:?}"));
}

fn sequence_batch(
    records: &[Bytes],
    context: &[FeatureSpec],
    steps: &[FeatureSpec],
    want: &[(&str, Value)],
    want_steps: &[(&str, Value)],
    lengths: &[(&str, Value)],
) {
    let parser = SequenceParser::new(context, steps).unwrap();
    let found = parser.parse_batch(records, None).unwrap();
    assert_eq!(named(parser.context().names(), found.context), format!("{want:?}"));
    assert_eq!(named(parser.names(), found.sequence), format!("{want_steps:?}"));
    let found: Vec<_> = found.lengths.iter().map(|(n, t)| (n.as_str(), Value::from(t.clone()))).collect();
    assert_eq!(found, lengths);
}

fn sequence_refused(record: Bytes, context: &[FeatureSpec], steps: &[FeatureSpec], words: &[&str]) {
    mentions(&SequenceParser::new(context, steps).and_then(|p| p.parse_single(&record)).unwrap_err(), words);
}

/// TensorFlow refuses unknown fields beside features and inside map entries; protobuf does not.
#[test]
fn unknown_fields_are_passed_over() {
    for record in ["0a0f2a01750a0a0a01611205 1a030a0104", "0a0f0a0d0a016112051a030a01041a0171"] {
        let record = hex(&record.replace(' ', ""));
        single(record, &[fixed("a", DType::I64, &[], None)], &[("a", i(&[], &[4]).into())]);
    }
}

#[test]
fn errors_say_what_was_found_and_what_to_do() {
    let record = r(0);
    let error = |spec: FeatureSpec| Parser::new(&[spec]).unwrap().parse_single(&record).unwrap_err();
    let e = error(fixed("v", DType::I64, &[2], None));
    assert_eq!(
        e.message(),
        "Key: v.  Can't parse serialized Example: Some int64_list slice was not parsed. feature 'v': declared shape [2] \
         needs 2 values, found 3"
    );
    assert_eq!(e.context(), [gristmill_types::Frame::Feature { key: "v".into() }]);
    let e = error(fixed("I", DType::I64, &[], None));
    assert_eq!(
        e.message(),
        "Feature: I (data type: int64) is required but could not be found.  The record has the features 'f', 'i', 'l', \
         'm', 's', 'v'"
    );
    assert_eq!(e.advice(), Some("did you mean 'i'?"));
    let e = error(fixed("i", DType::F32, &[], None));
    assert_eq!(
        e.message(),
        "Key: i.  Data types don't match. Data type: int64 but expected type: float: feature 'i' is stored as \
         int64_list, declared float32"
    );
    assert_eq!(e.advice(), Some("declare int64 and cast"));
    batch_refused(
        &[r(0), r(0)],
        None,
        &[fixed("v", DType::I64, &[2], None)],
        &[
            "Name: <unknown>, Key: v, Index: 0.  Number of int64 values != expected.  values size: 3 but output shape: [2]",
        ],
    );
    assert_eq!(Parser::new(&[]).unwrap_err().kind(), Kind::Value);
}

/// The second record fails: one row is there, appended columns hold just that.
#[test]
fn a_block_stops_at_its_first_failure() {
    let specs = [
        fixed("f", DType::F32, &[], None),
        fixed("i", DType::I64, &[], None),
        fixed("s", DType::String, &[], None),
        FeatureSpec::var_len("v", DType::I64),
    ];
    let parser = Parser::new(&specs).unwrap();
    assert_eq!(parser.names().collect::<Vec<_>>(), ["v", "f", "i", "s"]);
    let (mut values, mut floats, mut ints, mut strings) = (Vec::new(), [0u8; 12], [0u8; 24], None);
    let bad = Bytes::from(&[0x0a, 0x09, 0x0a, 0x07, 0x0a, 0x01, b'f', 0x12, 0x02, 0x12, 0x00][..]);
    let all = records(&[r(0), bad, r(0)]);
    let mut dest = [
        ColumnDest::Values(&mut values),
        ColumnDest::Plain(&mut floats),
        ColumnDest::Plain(&mut ints),
        ColumnDest::Strings(strings.insert(parser.string_column(3, &all).unwrap())),
    ];
    let (n, e) = parser.parse_block(&all, &mut dest);
    assert_eq!(n, 1);
    mentions(&e.unwrap(), &["key: f", "needs 1 values, found 0"]);
    let strings = strings.unwrap().finish(Shape::vector(1), &all).unwrap();
    assert_eq!((values.len(), strings), (1, Tensor::string_vector(vec!["hi".into()])));
    assert_eq!((&floats[..4], &ints[..8]), (&1.5f32.to_ne_bytes()[..], &5i64.to_ne_bytes()[..]));
    let (n, e) = parser.parse_block(&records(&[r(0)]), &mut [ColumnDest::Plain(&mut floats)]);
    assert_eq!((n, e.unwrap().kind()), (0, Kind::Internal));
}

#[test]
fn strings_share_the_records_memory() {
    let record = r(0);
    let values = Parser::new(&[fixed("s", DType::String, &[], None)]).unwrap().parse_single(&record).unwrap();
    let found = values[0].tensor().unwrap().as_strings()[0].as_slice().as_ptr();
    assert!(record.as_slice().as_ptr_range().contains(&found));
}
