//! Records one by one.

use super::*;

#[test]
fn single_records() {
    single(
        r(0),
        &[
            fixed("i", DType::I64, &[], None),
            fixed("f", DType::F32, &[], None),
            fixed("s", DType::String, &[], None),
        ],
        &[("f", f(&[], &[1.5]).into()), ("i", i(&[], &[5]).into()), ("s", s(&[], &[b"hi"]).into())],
    );
    single(
        r(0),
        &[fixed("v", DType::I64, &[3], None), fixed("l", DType::String, &[2], None)],
        &[("l", s(&[2], &[b"a", b"b"]).into()), ("v", i(&[3], &[1, 2, 3]).into())],
    );
    single(
        r(0),
        &[fixed("m", DType::F32, &[2, 3], None)],
        &[("m", f(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).into())],
    );
    single(r(0), &[fixed("i", DType::I64, &[1], None)], &[("i", i(&[1], &[5]).into())]);
    single(
        r(0),
        &[
            FeatureSpec::var_len("v", DType::I64),
            FeatureSpec::var_len("l", DType::String),
            FeatureSpec::var_len("m", DType::F32),
        ],
        &[
            ("l", sparse(i(&[2, 1], &[0, 1]), s(&[2], &[b"a", b"b"]), &[2])),
            ("m", sparse(i(&[6, 1], &[0, 1, 2, 3, 4, 5]), f(&[6], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), &[6])),
            ("v", sparse(i(&[3, 1], &[0, 1, 2]), i(&[3], &[1, 2, 3]), &[3])),
        ],
    );
    single(
        r(0),
        &[FeatureSpec::var_len("nope", DType::String), FeatureSpec::var_len("i", DType::I64)],
        &[
            ("i", sparse(i(&[1, 1], &[0]), i(&[1], &[5]), &[1])),
            ("nope", sparse(i(&[0, 1], &[]), s(&[0], &[]), &[0])),
        ],
    );
    single(
        r(0),
        &[
            fixed("x", DType::I64, &[], Some(i(&[], &[7]))),
            fixed("y", DType::F32, &[], Some(f(&[], &[-1.5]))),
            fixed("z", DType::String, &[], Some(s(&[], &[b"dd"]))),
        ],
        &[("x", i(&[], &[7]).into()), ("y", f(&[], &[-1.5]).into()), ("z", s(&[], &[b"dd"]).into())],
    );
    single(
        r(0),
        &[
            fixed("x", DType::I64, &[2], Some(i(&[2], &[7, 8]))),
            fixed("z", DType::String, &[2], Some(s(&[2], &[b"p", b"q"]))),
        ],
        &[("x", i(&[2], &[7, 8]).into()), ("z", s(&[2], &[b"p", b"q"]).into())],
    );
    single(r(0), &[fixed("z", DType::String, &[], Some(s(&[], &[b""])))], &[("z", s(&[], &[b""]).into())]);
    single(r(0), &[fixed("i", DType::I64, &[], Some(i(&[], &[99])))], &[("i", i(&[], &[5]).into())]);
    single(r(1), &[fixed("i", DType::I64, &[], Some(i(&[], &[3])))], &[("i", i(&[], &[3]).into())]);
    single(
        r(1),
        &[FeatureSpec::var_len("i", DType::I64)],
        &[("i", sparse(i(&[0, 1], &[]), i(&[0], &[]), &[0]))],
    );
    single(r(2), &[fixed("i", DType::I64, &[0], None)], &[("i", i(&[0], &[]).into())]);
    single(
        r(3),
        &[FeatureSpec::var_len("v", DType::I64), FeatureSpec::var_len("s", DType::String)],
        &[
            ("s", sparse(i(&[0, 1], &[]), s(&[0], &[]), &[0])),
            ("v", sparse(i(&[0, 1], &[]), i(&[0], &[]), &[0])),
        ],
    );
    single(
        r(4),
        &[fixed("x", DType::I64, &[], Some(i(&[], &[1]))), FeatureSpec::var_len("v", DType::String)],
        &[("v", sparse(i(&[0, 1], &[]), s(&[0], &[]), &[0])), ("x", i(&[], &[1]).into())],
    );
    single(
        r(7),
        &[fixed("i", DType::I64, &[2], None), fixed("f", DType::F32, &[1], None)],
        &[("f", f(&[1], &[0.5]).into()), ("i", i(&[2], &[4, 5]).into())],
    );
    single(r(8), &[fixed("a", DType::I64, &[2], None)], &[("a", i(&[2], &[3, 4]).into())]);
    single(
        r(9),
        &[FeatureSpec::var_len("a", DType::I64)],
        &[("a", sparse(i(&[1, 1], &[0]), i(&[1], &[3]), &[1]))],
    );
    single(r(10), &[fixed("a", DType::I64, &[], None)], &[("a", i(&[], &[3]).into())]);
    single(
        r(11),
        &[fixed("a", DType::I64, &[], None), fixed("b", DType::I64, &[], None)],
        &[("a", i(&[], &[1]).into()), ("b", i(&[], &[2]).into())],
    );
    single(
        r(12),
        &[FeatureSpec::var_len("a", DType::I64)],
        &[("a", sparse(i(&[1, 1], &[0]), i(&[1], &[1]), &[1]))],
    );
    single(r(13), &[fixed("a", DType::I64, &[], None)], &[("a", i(&[], &[4]).into())]);
    single(r(14), &[fixed("a", DType::I64, &[], None)], &[("a", i(&[], &[4]).into())]);
    single(r(15), &[fixed("late", DType::I64, &[], None)], &[("late", i(&[], &[5]).into())]);
    single(r(16), &[fixed("a", DType::I64, &[], None)], &[("a", i(&[], &[2]).into())]);
    single(r(0), &[fixed("i", DType::I64, &[], None)], &[("i", i(&[], &[5]).into())]);
    single(r(17), &[fixed("", DType::I64, &[], None)], &[("", i(&[], &[4]).into())]);
    single(
        r(0),
        &[
            seq("m", DType::F32, &[2], true, None),
            seq("v", DType::I64, &[], true, None),
            seq("gone", DType::I64, &[], true, None),
        ],
        &[
            ("gone", i(&[0], &[]).into()),
            ("m", f(&[3, 2], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).into()),
            ("v", i(&[3], &[1, 2, 3]).into()),
        ],
    );
    single(
        r(0),
        &[
            ragged_spec("v", DType::I64, None, vec![], DType::I32),
            ragged_spec("gone", DType::String, None, vec![], DType::I32),
        ],
        &[("gone", s(&[0], &[]).into()), ("v", i(&[3], &[1, 2, 3]).into())],
    );
    single(
        r(18),
        &[ragged_spec(
            "o",
            DType::I64,
            Some("v".into()),
            vec![Partition::RowLengths("r".into())],
            DType::I32,
        )],
        &[("o", ragged(i(&[4], &[1, 2, 3, 4]), vec![i32s(&[4], &[0, 1, 1, 4])]))],
    );
    single(
        r(19),
        &[sparse_spec("o", "ix", "val", DType::F32, 10)],
        &[("o", sparse(i(&[3, 1], &[1, 3, 7]), f(&[3], &[0.1, 0.3, 0.7]), &[10]))],
    );
    single(
        r(20),
        &[fixed("f", DType::F32, &[3], None)],
        &[("f", f(&[3], &[f32::NAN, f32::INFINITY, -0.0]).into())],
    );
}
