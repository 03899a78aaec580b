//! Properties over generated and damaged Examples.

use gristmill_example::{
    ColumnDest, Example, Feature, FeatureKind, FeatureMap, FeatureSpec, Parser, Records, SequenceExample,
    StringColumn, infer_spec,
};
use gristmill_types::{Bytes, DType, PartialShape, Shape, Tensor, Value};
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeMap;

/// The schema of tensorflow/core/example/{example,feature}.proto for prost.
mod schema {
    use std::collections::BTreeMap;

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct BytesList {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub(super) value: Vec<Vec<u8>>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct FloatList {
        #[prost(float, repeated, tag = "1")]
        pub(super) value: Vec<f32>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Int64List {
        #[prost(int64, repeated, tag = "1")]
        pub(super) value: Vec<i64>,
    }
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(super) enum Kind {
        #[prost(message, tag = "1")]
        Bytes(BytesList),
        #[prost(message, tag = "2")]
        Floats(FloatList),
        #[prost(message, tag = "3")]
        Ints(Int64List),
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Feature {
        #[prost(oneof = "Kind", tags = "1, 2, 3")]
        pub(super) kind: Option<Kind>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Features {
        #[prost(btree_map = "string, message", tag = "1")]
        pub(super) feature: BTreeMap<String, Feature>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Example {
        #[prost(message, optional, tag = "1")]
        pub(super) features: Option<Features>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct FeatureList {
        #[prost(message, repeated, tag = "1")]
        pub(super) feature: Vec<Feature>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct FeatureLists {
        #[prost(btree_map = "string, message", tag = "1")]
        pub(super) feature_list: BTreeMap<String, FeatureList>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct SequenceExample {
        #[prost(message, optional, tag = "1")]
        pub(super) context: Option<Features>,
        #[prost(message, optional, tag = "2")]
        pub(super) feature_lists: Option<FeatureLists>,
    }
}

fn ours(feature: schema::Feature) -> Feature {
    match feature.kind {
        None => Feature::Unset,
        Some(schema::Kind::Bytes(l)) => Feature::Bytes(l.value.into_iter().map(Bytes::from).collect()),
        Some(schema::Kind::Floats(l)) => Feature::Floats(l.value),
        Some(schema::Kind::Ints(l)) => Feature::Ints(l.value),
    }
}

fn our_map(features: schema::Features) -> BTreeMap<String, Feature> {
    features.feature.into_iter().map(|(k, f)| (k, ours(f))).collect()
}

/// Bits of floats count, so that NaN equals itself.
fn text(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c", "label", "", "é"])
}

fn feature() -> impl Strategy<Value = Feature> {
    prop_oneof![
        1 => Just(Feature::Unset),
        3 => prop::collection::vec(prop_oneof![any::<i64>(), 0..200i64], 0..30).prop_map(Feature::Ints),
        3 => prop::collection::vec(any::<f32>(), 0..4).prop_map(Feature::Floats),
        3 => prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5), 0..4)
            .prop_map(|v| Feature::Bytes(v.into_iter().map(Bytes::from).collect())),
    ]
}

fn example() -> impl Strategy<Value = Example> {
    prop::collection::btree_map(key().prop_map(String::from), feature(), 0..6)
        .prop_map(|features| Example { features: Some(features) })
}

fn sequence() -> impl Strategy<Value = SequenceExample> {
    let lists = prop::collection::btree_map(
        key().prop_map(String::from),
        prop::collection::vec(feature(), 0..3),
        0..3,
    );
    (example(), prop::option::of(lists))
        .prop_map(|(e, feature_lists)| SequenceExample { context: e.features, feature_lists })
}

/// Wire bytes of one field: tag, then a value that may or may not fit it.
fn field() -> impl Strategy<Value = Vec<u8>> {
    let nested = prop::collection::vec(any::<u8>(), 0..6);
    (1u8..6, 0u8..6, nested).prop_map(|(number, wire, mut value)| {
        let mut out = vec![number << 3 | wire];
        match wire {
            0 => out.push(value.len() as u8),
            1 => out.extend([7; 8]),
            2 => {
                out.push(value.len() as u8);
                out.append(&mut value);
            }
            5 => out.extend([7; 4]),
            _ => {}
        }
        out
    })
}

/// Wraps bytes as a length-delimited field.
fn wrap(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    prost::encode_length_delimiter(inner.len(), &mut out).unwrap();
    out.extend_from_slice(inner);
    out
}

/// Examples as no tidy writer makes them: fields in any order, repeated, unknown, unpacked.
fn untidy() -> impl Strategy<Value = Vec<u8>> {
    let packed =
        |n| (Just(n), prop::collection::vec(0u8..128, 0..3)).prop_map(|(n, v)| wrap(n, &wrap(1, &v)));
    let list = prop_oneof![
        packed(3),
        prop::collection::vec(0u8..128, 0..3)
            .prop_map(|v| wrap(3, &v.iter().flat_map(|&b| [8, b]).collect::<Vec<_>>())),
        (0usize..3).prop_map(|n| wrap(2, &[0x0d, 0, 0, 0x80, 0x3f].repeat(n))),
        (0usize..3).prop_map(|n| wrap(2, &wrap(1, &[0, 0, 0x80, 0x3f].repeat(n)))),
        prop::collection::vec(any::<u8>(), 0..3).prop_map(|v| wrap(1, &wrap(1, &v))),
        field(),
    ];
    let feature = prop::collection::vec(list, 0..3).prop_map(|v| wrap(2, &v.concat()));
    let part = prop_oneof![3 => feature, 3 => key().prop_map(|k| wrap(1, k.as_bytes())), 1 => field()];
    let entry = prop::collection::vec(part, 0..4).prop_map(|v| wrap(1, &v.concat()));
    let features =
        prop::collection::vec(prop_oneof![5 => entry, 1 => field()], 0..5).prop_map(|v| wrap(1, &v.concat()));
    prop::collection::vec(prop_oneof![5 => features, 1 => field()], 0..3).prop_map(|v| v.concat())
}

/// Bytes with a few changed, and perhaps cut off.
fn damaged(bytes: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3);
    (bytes, changes, any::<prop::sample::Index>(), prop::bool::weighted(0.2)).prop_map(
        |(mut b, changes, cut, do_cut)| {
            for (at, byte) in changes {
                if !b.is_empty() {
                    let at = at.index(b.len());
                    b[at] = byte;
                }
            }
            if do_cut {
                b.truncate(cut.index(b.len() + 1));
            }
            b
        },
    )
}

fn specs() -> Vec<FeatureSpec> {
    let sequence = FeatureKind::FixedLenSequence {
        dtype: DType::I64,
        shape: PartialShape::known(&[2]),
        allow_missing: true,
        default: None,
    };
    vec![
        FeatureSpec::fixed_or("a", &[], Tensor::scalar(5i64)),
        FeatureSpec::fixed_or("b", &[2], Tensor::vector(&[0.5f32, 1.5])),
        FeatureSpec::fixed_or("c", &[], Tensor::string("none")),
        FeatureSpec::var_len("label", DType::I64),
        FeatureSpec { name: "é".into(), kind: sequence },
    ]
}

/// Parses record by record in one block, dense features into flat memory.
fn by_block(parser: &Parser, records: &[Bytes]) -> (Vec<Vec<Value>>, Option<String>) {
    let rows = parser.row_bytes();
    let mut plain: Vec<Vec<u8>> = rows.iter().map(|n| vec![0xaa; n.unwrap_or(0) * records.len()]).collect();
    let all = Records::of(&Tensor::string_vector(records.to_vec())).unwrap();
    let mut strings: Vec<Option<StringColumn>> =
        (0..rows.len()).map(|i| parser.string_column(i, &all)).collect();
    let is_strings: Vec<bool> = strings.iter().map(Option::is_some).collect();
    let mut values: Vec<Vec<Value>> = vec![Vec::new(); rows.len()];
    let mut dest: Vec<ColumnDest<'_>> = Vec::new();
    for (i, ((p, s), v)) in plain.iter_mut().zip(&mut strings).zip(&mut values).enumerate() {
        dest.push(match (rows[i], s) {
            (Some(_), _) => ColumnDest::Plain(p),
            (_, Some(s)) => ColumnDest::Strings(s),
            _ => ColumnDest::Values(v),
        });
    }
    let (n, error) = parser.parse_block(&all, &mut dest);
    let specs = parser.specs();
    let strings: Vec<Vec<Bytes>> = strings
        .into_iter()
        .enumerate()
        .map(|(c, column)| {
            column.map_or_else(Vec::new, |column| {
                let count = n * specs[c].shape().full().unwrap().count();
                column.finish(Shape::vector(count), &all).unwrap().as_strings().to_vec()
            })
        })
        .collect();
    let row = |i: usize, c: usize| -> Value {
        let shape = specs[c].shape().full();
        match (rows[c], is_strings[c]) {
            (Some(size), _) => {
                let raw = &plain[c][i * size..(i + 1) * size];
                Tensor::from_bytes(specs[c].dtype(), shape.unwrap(), raw).unwrap().into()
            }
            (_, true) => {
                let per = shape.unwrap().count();
                Tensor::strings(shape.unwrap(), strings[c][i * per..(i + 1) * per].to_vec()).unwrap().into()
            }
            _ => values[c][i].clone(),
        }
    };
    for c in 0..rows.len() {
        if is_strings[c] {
            assert_eq!(strings[c].len(), n * specs[c].shape().full().unwrap().count());
        } else if rows[c].is_none() {
            assert_eq!(values[c].len(), n);
        }
    }
    ((0..n).map(|i| (0..rows.len()).map(|c| row(i, c)).collect()).collect(), error.map(|e| e.to_string()))
}

/// Block and single parsing agree on these records, the first failure included.
fn check_block(records: Vec<Vec<u8>>) {
    let parser = Parser::new(&specs()).unwrap();
    let records: Vec<Bytes> = records.into_iter().map(Bytes::from).collect();
    let (rows, error) = by_block(&parser, &records);
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(text(row), text(&parser.parse_single(record).unwrap()));
    }
    match records.get(rows.len()) {
        Some(record) => assert_eq!(error, Some(parser.parse_single(record).unwrap_err().to_string())),
        None => assert_eq!(error, None),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn encodes_as_prost(e in example()) {
        let wire = e.encode();
        let theirs = schema::Example::decode(wire.as_slice()).unwrap();
        prop_assert_eq!(theirs.features.clone().map(our_map).map(|m| text(&m)), e.features.as_ref().map(text));
        // prost leaves empty messages and keys out of map entries, where protobuf writes them.
        if e.features.iter().flatten().all(|(k, f)| !k.is_empty() && *f != Feature::Unset) {
            prop_assert_eq!(theirs.encode_to_vec(), wire.clone());
        }
        prop_assert_eq!(text(&Example::decode(&Bytes::from(wire)).unwrap()), text(&e));
    }

    #[test]
    fn decodes_what_prost_decodes(wire in prop_oneof![untidy(), damaged(untidy()), damaged(example().prop_map(|e| e.encode()))]) {
        let found = Example::decode(&Bytes::from(wire.clone()));
        if let Ok(theirs) = schema::Example::decode(wire.as_slice()) {
            prop_assert_eq!(text(&found.unwrap().features), text(&theirs.features.map(our_map)));
        }
    }

    #[test]
    fn sequences_are_as_prosts(s in sequence(), damage in damaged(sequence().prop_map(|s| s.encode()))) {
        for wire in [s.encode(), damage] {
            let found = SequenceExample::decode(&Bytes::from(wire.clone()));
            if let Ok(theirs) = schema::SequenceExample::decode(wire.as_slice()) {
                let found = found.unwrap();
                prop_assert_eq!(text(&found.context), text(&theirs.context.map(our_map)));
                let lists = theirs.feature_lists.map(|l| l.feature_list.into_iter()
                    .map(|(k, l)| (k, l.feature.into_iter().map(ours).collect::<Vec<_>>()))
                    .collect::<BTreeMap<_, _>>());
                prop_assert_eq!(text(&found.feature_lists), text(&lists));
            }
        }
    }

    /// Records of one program, one of them damaged: what the form of the others lets pass unseen would show.
    #[test]
    fn records_alike_but_for_a_damage(
        a in any::<i64>(), b in any::<[f32; 2]>(), c in "[a-z]{0,20}", extra in any::<bool>(),
        at in any::<prop::sample::Index>(), flip in 1u8..=255, cut in any::<prop::sample::Index>(), how in 0..4,
    ) {
        let record = |a: i64| {
            let mut map = FeatureMap::new();
            map.insert("a".into(), Feature::Ints(vec![a]));
            map.insert("b".into(), Feature::Floats(b.to_vec()));
            map.insert("c".into(), Feature::Bytes(vec![c.as_str().into()]));
            map.insert("label".into(), Feature::Ints(vec![a, 7]));
            if extra {
                map.insert("a rather long name that nobody asks for".into(), Feature::Bytes(vec!["x".into()]));
            }
            Example { features: Some(map) }.encode()
        };
        let mut odd = record(a.wrapping_mul(3));
        match how {
            0 => { let i = at.index(odd.len()); odd[i] ^= flip; }
            1 => { odd.truncate(cut.index(odd.len())); }
            2 => { let i = at.index(odd.len()); odd.insert(i, flip); }
            _ => { let again = odd.clone(); odd.extend(again); }
        }
        check_block(vec![record(a), record(a / 2), odd, record(0), record(-1)]);
    }

    #[test]
    fn parser_sees_what_the_message_holds(e in example()) {
        // One sparse feature per key, of the kind that is stored.
        let features = e.features.clone().unwrap_or_default();
        let dtype = |f: &Feature| match f {
            Feature::Floats(_) => DType::F32,
            Feature::Bytes(_) => DType::String,
            _ => DType::I64,
        };
        let mut specs: Vec<_> = features.iter().map(|(k, f)| FeatureSpec::var_len(k, dtype(f))).collect();
        // Sorts behind all others and is never there, so that no spec is empty.
        specs.push(FeatureSpec::var_len("\u{10ffff}", DType::I64));
        let found = Parser::new(&specs).unwrap().parse_single(&Bytes::from(e.encode())).unwrap();
        for (value, feature) in found.iter().zip(features.values()) {
            let values = &value.sparse().unwrap().values;
            let want = match feature {
                Feature::Unset => Tensor::vector::<i64>(&[]),
                Feature::Ints(v) => Tensor::vector(v),
                Feature::Floats(v) => Tensor::vector(v),
                Feature::Bytes(v) => Tensor::string_vector(v.clone()),
            };
            prop_assert_eq!(values, &want);
        }
    }

    #[test]
    fn block_is_single_record_by_record(
        records in prop::collection::vec(prop_oneof![
            6 => prop_oneof![Just(vec![1i64]), Just(vec![2, 3]), Just(vec![-1])].prop_map(|v| {
                let mut m = BTreeMap::new();
                if v.len() == 1 { m.insert("a".to_owned(), Feature::Ints(v.clone())); }
                m.insert("b".to_owned(), Feature::Floats(vec![0.25, v[0] as f32]));
                m.insert("c".to_owned(), Feature::Bytes(vec![Bytes::from("xyz")]));
                m.insert("label".to_owned(), Feature::Ints(v));
                Example { features: Some(m) }.encode()
            }),
            2 => example().prop_map(|e| e.encode()),
            2 => untidy(),
            1 => damaged(untidy()),
            1 => damaged(example().prop_map(|e| e.encode())),
        ], 0..8),
    ) {
        check_block(records);
    }

    #[test]
    fn any_bytes_are_survived(wire in prop::collection::vec(any::<u8>(), 0..64)) {
        let record = Bytes::from(wire.clone());
        let _ = Example::decode(&record);
        let _ = SequenceExample::decode(&record);
        let _ = infer_spec([wire.as_slice()]);
        let parser = Parser::new(&specs()).unwrap();
        let single = parser.parse_single(&record).map(|_| ());
        let batch = parser.parse_batch(&Records::of(&Tensor::string_vector(vec![record.clone()])).unwrap(), None).map(|_| ());
        prop_assert_eq!(single.is_ok(), batch.is_ok());
        check_block(vec![wire]);
    }
}
