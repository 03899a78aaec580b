//! Records one by one that are refused.

use super::*;

#[test]
fn single_records_that_are_refused() {
    refused(r(0), &[fixed("x", DType::I64, &[3], Some(i(&[], &[7])))], &["1 values", "3"]);
    refused(r(0), &[fixed("x", DType::I64, &[3], Some(i(&[2], &[1, 2])))], &["2 values", "3"]);
    refused(r(0), &[fixed("nope", DType::I64, &[], None)], &["nope", "required but could not be found"]);
    refused(
        r(0),
        &[fixed("i", DType::F32, &[], None)],
        &["key: i", "Data types don't match", "float", "int64"],
    );
    refused(
        r(0),
        &[fixed("s", DType::I64, &[], None)],
        &["key: s", "Data types don't match", "int64", "string"],
    );
    refused(r(0), &[FeatureSpec::var_len("v", DType::F32)], &["key: v"]);
    refused(r(0), &[fixed("v", DType::I64, &[2], None)], &["key: v", "int64_list"]);
    refused(r(0), &[fixed("v", DType::I64, &[], None)], &["key: v"]);
    refused(r(0), &[fixed("m", DType::F32, &[2, 2], None)], &["key: m"]);
    refused(r(0), &[fixed("l", DType::String, &[], None)], &["key: l"]);
    refused(r(1), &[fixed("i", DType::I64, &[], None)], &["required but could not be found"]);
    refused(r(2), &[fixed("i", DType::I64, &[], None)], &["key: i"]);
    refused(r(2), &[fixed("i", DType::I64, &[], Some(i(&[], &[3])))], &["key: i"]);
    refused(r(5), &[fixed("x", DType::I64, &[], Some(i(&[], &[1])))], &["Could not parse example input"]);
    refused(r(6), &[fixed("i", DType::I64, &[], None)], &["Could not parse example input"]);
    refused(r(0), &[seq("v", DType::I64, &[2], true, None)], &["key v", "divisible by 2", "found 3"]);
    refused(r(0), &[seq("v", DType::I64, &[], false, None)], &["allow_missing"]);
    refused(r(0), &[fixed("i", DType::U8, &[], None)], &[]);
}
