//! Parsing of Examples with six features: records of one form, of one order, and of no order.

use criterion::{Criterion, Throughput};
use gristmill_example::example::{Example, Feature};
use gristmill_example::{ColumnDest, FeatureSpec, Parser, Records};
use gristmill_types::{Bytes, DType, Tensor};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

const RECORDS: usize = 1024;

/// One feature as an Example of its own: such messages in a row are one message with all of them, in that order.
fn alone(name: &str, feature: Feature) -> Vec<u8> {
    Example { features: Some(BTreeMap::from([(name.to_owned(), feature)])) }.encode()
}

/// The features of record `i`, with strings of `letters(i)` bytes.
fn features(i: usize, letters: usize) -> Vec<(String, Feature)> {
    let int = |k: usize| Feature::Ints(vec![(16_384 + (i * 7919 + k * 104_729) % 2_000_000) as i64]);
    let mut all: Vec<_> = (0..4).map(|k| (format!("i{k}"), int(k))).collect();
    all.push(("f".to_owned(), Feature::Floats((0..32).map(|k| (i * 32 + k) as f32).collect())));
    all.push(("s".to_owned(), Feature::Bytes(vec![Bytes::copy_from(&vec![b'a'; letters])])));
    all
}

/// Records as one program writes them.
fn ordered(letters: impl Fn(usize) -> usize) -> Records {
    let encode = |i| {
        let all: BTreeMap<_, _> = features(i, letters(i)).into_iter().collect();
        Bytes::copy_from(&Example { features: Some(all) }.encode())
    };
    Records::of(&Tensor::string_vector((0..RECORDS).map(encode).collect())).expect("small records")
}

/// Records whose features come in another order each time.
fn turned() -> Records {
    let encode = |i: usize| {
        let mut all = features(i, 20);
        all.rotate_left(i % 6);
        if i % 2 == 1 {
            all.reverse();
        }
        Bytes::copy_from(&all.into_iter().flat_map(|(name, f)| alone(&name, f)).collect::<Vec<u8>>())
    };
    Records::of(&Tensor::string_vector((0..RECORDS).map(encode).collect())).expect("small records")
}

fn main() {
    let times = Criterion::default().warm_up_time(Duration::from_millis(200));
    let mut c = times.measurement_time(Duration::from_secs(1)).sample_size(20).configure_from_args();
    let mut specs: Vec<_> = (0..4).map(|k| FeatureSpec::fixed(format!("i{k}"), DType::I64, &[])).collect();
    specs.push(FeatureSpec::fixed("f", DType::F32, &[32]));
    specs.push(FeatureSpec::fixed("s", DType::String, &[]));
    let mut group = c.benchmark_group("parse_block");
    group.throughput(Throughput::Elements(RECORDS as u64));
    let cases = [
        ("template: nothing but values differ", ordered(|_| 20)),
        ("layout: lengths differ", ordered(|i| 10 + i * 31 % 97)),
        ("general: the order differs", turned()),
    ];
    for (name, records) in cases {
        let parser = Parser::new(&specs).expect("fixed features");
        let mut rows: Vec<_> =
            parser.row_bytes().iter().map(|n| vec![0u8; n.unwrap_or(0) * RECORDS]).collect();
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut strings = parser.string_column(5, &records).expect("the last feature is a string");
                let mut dest: Vec<_> = rows[..5].iter_mut().map(|r| ColumnDest::Plain(r)).collect();
                dest.push(ColumnDest::Strings(&mut strings));
                let (done, failed) = parser.parse_block(black_box(&records), &mut dest);
                assert!(done == RECORDS && failed.is_none(), "{failed:?}");
            });
        });
    }
    group.finish();
    c.final_summary();
}
