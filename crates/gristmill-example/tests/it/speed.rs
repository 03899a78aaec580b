//! Records per second of the block parser; run with
//! `cargo test --release -p gristmill-example -- --ignored --nocapture speed`.

use gristmill_example::{ColumnDest, Example, Feature, FeatureSpec, Parser, Records};
use gristmill_types::{Buffer, Bytes, DType, Shape, Tensor};
use std::sync::Arc;
use std::time::Instant;

/// 237 bytes or near it: four integers, 32 floats, a string of 20 bytes.
fn record(i: i64) -> Vec<u8> {
    let features = [
        ("dense", Feature::Floats((0..32).map(|k| (k as f32).mul_add(0.5, i as f32)).collect())),
        ("id", Feature::Ints(vec![i])),
        ("x0", Feature::Ints(vec![i % 100])),
        ("x1", Feature::Ints(vec![i % 7])),
        ("label", Feature::Ints(vec![i % 10])),
        ("name", Feature::Bytes(vec![Bytes::from(format!("record-{i:013}").as_str())])),
    ];
    Example { features: Some(features.into_iter().map(|(k, f)| (k.to_owned(), f)).collect()) }.encode()
}

fn records(n: i64) -> Vec<Bytes> {
    let encoded: Vec<Vec<u8>> = (0..n).map(record).collect();
    let all = Arc::new(Buffer::from_slice(&encoded.concat()));
    let mut start = 0;
    encoded
        .iter()
        .map(|r| {
            let b = Bytes::slice_of(&all, start, r.len());
            start += r.len();
            b
        })
        .collect()
}

#[test]
#[ignore = "measures"]
fn speed() {
    let n = 2048;
    let records = records(n as i64);
    let parser = Parser::new(&[
        FeatureSpec::fixed("dense", DType::F32, &[32]),
        FeatureSpec::fixed("id", DType::I64, &[]),
        FeatureSpec::fixed("x0", DType::I64, &[]),
        FeatureSpec::fixed("x1", DType::I64, &[]),
        FeatureSpec::fixed("label", DType::I64, &[]),
        FeatureSpec::fixed("name", DType::String, &[]),
    ])
    .unwrap();
    let rows = parser.row_bytes();
    let mut plain: Vec<Vec<u8>> = rows.iter().map(|r| vec![0; r.unwrap_or(0) * n]).collect();
    let all = Records::of(&Tensor::string_vector(records.clone())).unwrap();
    let column = rows.iter().position(Option::is_none).unwrap();
    let mut strings = None;
    let mut best = f64::MAX;
    for _ in 0..200 {
        let mut strings_once = Some(strings.insert(parser.string_column(column, &all).unwrap()));
        let mut dest: Vec<_> = plain
            .iter_mut()
            .zip(&rows)
            .map(|(p, r)| match r {
                Some(_) => ColumnDest::Plain(p),
                None => ColumnDest::Strings(strings_once.take().unwrap()),
            })
            .collect();
        let start = Instant::now();
        let (done, error) = parser.parse_block(&all, &mut dest);
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!((done, error), (n, None));
    }
    let strings = strings.unwrap().finish(Shape::vector(n), &all).unwrap();
    assert_eq!(&*strings.as_strings()[5], b"record-0000000000005");
    println!(
        "parse_block: {:.2} M records/s, {} bytes each, {:.0} MB/s",
        n as f64 / best / 1e6,
        records[0].len(),
        n as f64 * records[0].len() as f64 / best / 1e6
    );
}
