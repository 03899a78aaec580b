//! Values are those of protobuf's own runtime (deterministic serialisation).

use super::*;
use crate::SequenceExample;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn ints(v: &[i64]) -> Feature {
    Feature::Ints(v.to_vec())
}

fn floats(v: &[f32]) -> Feature {
    Feature::Floats(v.to_vec())
}

fn strings(v: &[&[u8]]) -> Feature {
    Feature::Bytes(v.iter().map(|&s| Bytes::from(s)).collect())
}

fn map(features: &[(&str, Feature)]) -> FeatureMap {
    features.iter().map(|(k, f)| ((*k).to_owned(), f.clone())).collect()
}

fn encodes(features: &[(&str, Feature)], hex: &str) {
    let example = Example { features: Some(map(features)) };
    let wire = bytes(hex);
    assert_eq!(example.encode(), wire, "{features:?}");
    // Encoded again, since NaN differs from itself.
    assert_eq!(Example::decode(&Bytes::from(wire.clone())).unwrap().encode(), wire);
}

fn decodes(hex: &str, features: &[(&str, Feature)]) {
    let found = Example::decode(&Bytes::from(bytes(hex))).unwrap().features.unwrap_or_default();
    assert_eq!(format!("{found:?}"), format!("{:?}", map(features)), "{hex}");
}

fn refuses(hex: &str, words: &str) {
    let e = Example::decode(&Bytes::from(bytes(hex))).unwrap_err();
    assert!(e.message().contains(words), "{hex}: {e}");
    assert_eq!(e.kind(), Kind::DataLoss);
}

#[test]
fn encoder_is_protobufs_deterministic_one() {
    encodes(&[], "0a00");
    encodes(&[("a", ints(&[1]))], "0a0c0a0a0a016112051a030a0101");
    encodes(
        &[("x", ints(&[0, 1, 127, 128, 300, 2147483648, 9223372036854775807]))],
        "0a200a1e0a017812191a170a1500017f8001ac028080808008ffffffffffffffff7f",
    );
    encodes(
        &[("x", ints(&[-1, -128, -9223372036854775808]))],
        "0a290a270a017812221a200a1effffffffffffffffff0180ffffffffffffffff0180808080808080808001",
    );
    encodes(
        &[(
            "f",
            floats(&[0.0, -0.0, 1.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0e-45, 3.4028235e38]),
        )],
        "0a2b0a290a0166122412220a2000000000000000800000c03f0000c07f0000807f000080ff01000000ffff7f7f",
    );
    encodes(
        &[("b", strings(&[b"", b"abc", b"\xff\xfe\x00", b"h\xc3\xa9"]))],
        "0a1a0a180a016212130a110a000a036162630a03fffe000a0368c3a9",
    );
    encodes(
        &[("i", ints(&[])), ("f", floats(&[])), ("b", strings(&[]))],
        "0a1b0a070a016212020a000a070a0166120212000a070a016912021a00",
    );
    encodes(&[("k", Feature::Unset), ("z", ints(&[3]))], "0a130a050a016b12000a0a0a017a12051a030a0103");
    encodes(
        &[
            ("b", ints(&[2])),
            ("a", ints(&[1])),
            ("Z", ints(&[3])),
            ("aa", ints(&[4])),
            ("", ints(&[5])),
            ("é", ints(&[6])),
            ("~", ints(&[7])),
        ],
        "0a550a0a0a015a12051a030a01030a0b0a02616112051a030a01040a0a0a016112051a030a01010a0a0a016212051a030a01020a0a0a017e12051a030a01070a0b0a02c3a912051a030a01060a090a0012051a030a0105",
    );
    assert_eq!(Example::default().encode(), b"");
}

/// Of `f1` and `f10` the longer comes first.
#[test]
fn keys_that_begin_others_come_last() {
    let map: FeatureMap = (0..40).map(|i| (format!("f{i}"), ints(&[i]))).collect();
    let keys: Vec<_> = in_wire_order(&map).into_iter().map(|(k, _)| k.as_str()).collect();
    assert_eq!(keys[..4], ["f0", "f10", "f11", "f12"]);
    assert_eq!(keys[10..14], ["f19", "f1", "f20", "f21"]);
}

#[test]
fn lengths_over_one_byte() {
    let long = strings(&[&[b'a'; 127], &[b'b'; 128]]);
    let wire = Example { features: Some(map(&[("x", long)])) }.encode();
    assert_eq!(wire[..17], bytes("0a90020a8d020a01781287020a84020a7f")[..]);
    assert_eq!(wire.len(), 275);
}

#[test]
fn decoder_follows_protobufs_rules() {
    // empty
    decodes("", &[]);
    // packed int
    decodes("0a180a160a016112111a0f0a0d01ffffffffffffffffff01ac02", &[("a", ints(&[1, -1, 300]))]);
    // unpacked int
    decodes("0a190a170a016112121a10080108ffffffffffffffffff0108ac02", &[("a", ints(&[1, -1, 300]))]);
    // mixed packed unpacked
    decodes("0a120a100a0161120b1a090a02010208030a0104", &[("a", ints(&[1, 2, 3, 4]))]);
    // packed float
    decodes("0a170a150a01661210120e0a0c0000c03f0000c07f00000080", &[("f", floats(&[1.5, f32::NAN, -0.0]))]);
    // unpacked float
    decodes(
        "0a180a160a01661211120f0d0000c03f0d0000807f0d000010c0",
        &[("f", floats(&[1.5, f32::INFINITY, -2.25]))],
    );
    // missing kind
    decodes("0a070a050a016b1200", &[("k", Feature::Unset)]);
    // entry without value
    decodes("0a050a030a016b", &[("k", Feature::Unset)]);
    // entry without key
    decodes("0a090a0712051a030a0109", &[("", ints(&[9]))]);
    // dup keys last wins
    decodes("0a190a0b0a016112061a040a0201020a0a0a016112051a030a0103", &[("a", ints(&[3]))]);
    // dup keys other kind
    decodes("0a190a0b0a016112061a040a0201020a0a0a016112050a030a0178", &[("a", strings(&[b"x"]))]);
    // features twice merge
    decodes(
        "0a0c0a0a0a016112051a030a01010a0c0a0a0a016212051a030a0102",
        &[("a", ints(&[1])), ("b", ints(&[2]))],
    );
    // features twice same key
    decodes("0a0c0a0a0a016112051a030a01010a0c0a0a0a016112051a030a0102", &[("a", ints(&[2]))]);
    // kind repeated same
    decodes("0a110a0f0a0161120a1a030a01011a030a0102", &[("a", ints(&[1, 2]))]);
    // kind repeated other
    decodes("0a110a0f0a0161120a1a030a01010a030a0171", &[("a", strings(&[b"q"]))]);
    // unknown fields
    decodes(
        "78074a037a7a7a0a122a01750a0d0a016112081a030a01043a01763131323334353637383531323334",
        &[("a", ints(&[4]))],
    );
    // value before key
    decodes("0a0f0a0d12051a030a01050a046c617465", &[("late", ints(&[5]))]);
    // nonutf8 value
    decodes("0a0f0a0d0a016112080a060a02fffe0a00", &[("a", strings(&[b"\xff\xfe", b""]))]);
    // overlong varint
    decodes("0a0f0a0d0a016112081a060a0481808000", &[("a", ints(&[1]))]);
}

#[test]
fn decoder_refuses_what_protobuf_refuses() {
    refuses("0a0e0a0c0a016112071a050a030102", "Wire format was corrupt");
    refuses("0701", "Wire format was corrupt");
    refuses("0a0c0a0a0a01ff12051a030a0101", "String field had bad UTF-8");
    refuses("0a160a140a0161120f1a0d0a0bffffffffffffffffffff01", "Wire format was corrupt");
    refuses("0a0e0a0c0a0166120712050a03313233", "Wire format was corrupt");
}

#[test]
fn sequences_encode_and_decode() {
    let s = SequenceExample {
        context: Some(map(&[("id", strings(&[b"s1"])), ("len", ints(&[3]))])),
        feature_lists: Some(
            [
                ("tok", vec![ints(&[1, 2]), ints(&[3]), ints(&[])]),
                ("w", vec![floats(&[0.5]), floats(&[1.5])]),
            ]
            .into_iter()
            .map(|(k, l): (&str, Vec<Feature>)| (k.to_owned(), l))
            .collect(),
        ),
    };
    let wire = bytes(
        "0a1c0a0c0a02696412060a040a0273310a0c0a036c656e12051a030a010312370a1a0a03746f6b12130a061a040a0201020a051a030a01030a021a000a190a017712140a0812060a040000003f0a0812060a040000c03f",
    );
    assert_eq!(s.encode(), wire);
    assert_eq!(SequenceExample::decode(&Bytes::from(wire)).unwrap(), s);
    let s = SequenceExample {
        context: Some(map(&[])),
        feature_lists: Some(
            [("e", vec![])].into_iter().map(|(k, l): (&str, Vec<Feature>)| (k.to_owned(), l)).collect(),
        ),
    };
    let wire = bytes("0a0012070a050a01651200");
    assert_eq!(s.encode(), wire);
    assert_eq!(SequenceExample::decode(&Bytes::from(wire)).unwrap(), s);
    let s = SequenceExample { context: None, feature_lists: None };
    let wire = bytes("");
    assert_eq!(s.encode(), wire);
    assert_eq!(SequenceExample::decode(&Bytes::from(wire)).unwrap(), s);
    let s = SequenceExample {
        context: None,
        feature_lists: Some(
            [("a", vec![strings(&[b"x"]), Feature::Unset])]
                .into_iter()
                .map(|(k, l): (&str, Vec<Feature>)| (k.to_owned(), l))
                .collect(),
        ),
    };
    let wire = bytes("12100a0e0a016112090a050a030a01780a00");
    assert_eq!(s.encode(), wire);
    assert_eq!(SequenceExample::decode(&Bytes::from(wire)).unwrap(), s);
    assert!(SequenceExample::decode(&Bytes::from(bytes("12100a0e0a016112090a050a030a01780a"))).is_err());
}
