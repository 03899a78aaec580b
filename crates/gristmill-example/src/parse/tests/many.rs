//! Batches and sequences.

use super::*;

#[test]
fn batches() {
    batch(&[r(21), r(22), r(23)], &[fixed("i", DType::I64, &[], None)], &[("i", i(&[3], &[1, 2, 3]).into())]);
    batch(
        &[r(21), r(22), r(23)],
        &[FeatureSpec::var_len("v", DType::I64)],
        &[("v", sparse(i(&[4, 2], &[0, 0, 0, 1, 0, 2, 2, 0]), i(&[4], &[1, 2, 3, 9]), &[3, 3]))],
    );
    batch(
        &[r(21), r(22), r(23)],
        &[ragged_spec("v", DType::I64, None, vec![], DType::I32)],
        &[("v", ragged(i(&[4], &[1, 2, 3, 9]), vec![i32s(&[4], &[0, 3, 3, 4])]))],
    );
    batch(
        &[r(21), r(22), r(23)],
        &[seq("v", DType::I64, &[], true, Some(i(&[], &[-5])))],
        &[("v", i(&[3, 3], &[1, 2, 3, -5, -5, -5, 9, -5, -5]).into())],
    );
    batch(
        &[r(21), r(24)],
        &[
            fixed("i", DType::I64, &[], Some(i(&[], &[70]))),
            fixed("s", DType::String, &[], Some(s(&[], &[b"none"]))),
        ],
        &[("i", i(&[2], &[1, 70]).into()), ("s", s(&[2], &[b"a", b"none"]).into())],
    );
    batch_refused(
        &[r(21), r(24)],
        None,
        &[fixed("i", DType::I64, &[], None)],
        &["i", "required but could not be found"],
    );
    batch_refused(
        &[r(21), r(24)],
        Some(&[Bytes::from("ex0"), Bytes::from("ex1")]),
        &[fixed("i", DType::I64, &[], None)],
        &["ex1", "required but could not be found"],
    );
    batch_refused(&[r(21), r(22)], None, &[fixed("i", DType::String, &[], None)], &["key: i"]);
    batch(
        &[r(25), r(26)],
        &[ragged_spec(
            "o",
            DType::I64,
            Some("v".into()),
            vec![Partition::RowLengths("r".into())],
            DType::I32,
        )],
        &[("o", ragged(i(&[3], &[1, 2, 3]), vec![i32s(&[3], &[0, 2, 2]), i32s(&[3], &[0, 2, 3])]))],
    );
    batch(
        &[r(21), r(22)],
        &[ragged_spec("v", DType::I64, None, vec![], DType::I64)],
        &[("v", ragged(i(&[3], &[1, 2, 3]), vec![i(&[3], &[0, 3, 3])]))],
    );
    batch(
        &[r(27), r(28)],
        &[ragged_spec("v", DType::I64, None, vec![Partition::UniformRowLength(2)], DType::I32)],
        &[("v", ragged(i(&[3, 2], &[1, 2, 3, 4, 5, 6]), vec![i32s(&[3], &[0, 2, 3])]))],
    );
    batch(
        &[r(29), r(24)],
        &[sparse_spec("o", "ix", "val", DType::F32, 4)],
        &[("o", sparse(i(&[2, 2], &[0, 0, 0, 2]), f(&[2], &[0.0, 0.2]), &[2, 4]))],
    );
    batch(
        &[],
        &[fixed("i", DType::I64, &[], None), FeatureSpec::var_len("v", DType::I64)],
        &[("v", sparse(i(&[0, 2], &[]), i(&[0], &[]), &[0, 0])), ("i", i(&[0], &[]).into())],
    );
    batch_refused(
        &[r(21), r(30)],
        None,
        &[fixed("i", DType::I64, &[], None)],
        &["Could not parse example input"],
    );
}

#[test]
fn sequences() {
    sequence(
        r(31),
        &[fixed("id", DType::String, &[], None), fixed("n", DType::I64, &[], None)],
        &[
            seq("tok", DType::I64, &[], false, None),
            seq("vec", DType::F32, &[2], false, None),
            FeatureSpec::var_len("w", DType::F32),
        ],
        &[("id", s(&[], &[b"one"]).into()), ("n", i(&[], &[3]).into())],
        &[
            ("w", sparse(i(&[3, 2], &[0, 0, 0, 1, 2, 0]), f(&[3], &[0.5, 1.5, 2.5]), &[3, 2])),
            ("tok", i(&[3], &[1, 2, 3]).into()),
            ("vec", f(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).into()),
        ],
    );
    sequence_batch(
        &[r(31), r(32)],
        &[fixed("id", DType::String, &[], None), FeatureSpec::var_len("n", DType::I64)],
        &[
            seq("tok", DType::I64, &[], false, None),
            seq("vec", DType::F32, &[2], false, None),
            FeatureSpec::var_len("w", DType::F32),
        ],
        &[
            ("n", sparse(i(&[1, 2], &[0, 0]), i(&[1], &[3]), &[2, 1])),
            ("id", s(&[2], &[b"one", b"two"]).into()),
        ],
        &[
            (
                "w",
                sparse(
                    i(&[4, 3], &[0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 0, 0]),
                    f(&[4], &[0.5, 1.5, 2.5, 7.0]),
                    &[2, 3, 2],
                ),
            ),
            ("tok", i(&[2, 3], &[1, 2, 3, 9, 0, 0]).into()),
            ("vec", f(&[2, 3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 9.0, 0.0, 0.0, 0.0, 0.0]).into()),
        ],
        &[("tok", i(&[2], &[3, 1]).into()), ("vec", i(&[2], &[3, 1]).into())],
    );
    sequence(
        r(31),
        &[fixed("n", DType::I64, &[], Some(i(&[], &[0])))],
        &[ragged_spec("w", DType::F32, None, vec![], DType::I32)],
        &[("n", i(&[], &[3]).into())],
        &[("w", ragged(f(&[3], &[0.5, 1.5, 2.5]), vec![i32s(&[4], &[0, 2, 2, 3])]))],
    );
    sequence_refused(r(31), &[], &[seq("gone", DType::I64, &[], false, None)], &["gone"]);
    sequence(r(31), &[], &[seq("gone", DType::I64, &[], true, None)], &[], &[("gone", i(&[0], &[]).into())]);
    sequence_refused(
        r(32),
        &[fixed("n", DType::I64, &[], None)],
        &[seq("tok", DType::I64, &[], false, None)],
        &["n"],
    );
    sequence_refused(r(31), &[], &[seq("tok", DType::String, &[], false, None)], &["tok"]);
    sequence_refused(r(31), &[], &[seq("vec", DType::F32, &[3], false, None)], &["vec"]);
}
