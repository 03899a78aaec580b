//! Orders that TensorFlow gives.

use crate::support::rows;
use gristmill::plan::dataset::Operand;
use gristmill::types::rng::seed_pair;
use gristmill::types::{DType, Tensor};
use gristmill::{Dataset, f};

fn range(n: i64) -> Dataset {
    Dataset::range(0, n, 1).unwrap()
}

#[test]
fn shuffle_gives_tensorflows_order_in_each_epoch() {
    // tf.random.set_seed(1); tf.data.Dataset.range(7).shuffle(7, seed=3).repeat(3), TensorFlow 2.21.
    let shuffle = gristmill::plan::dataset::Shuffle {
        buffer: Operand::int(7),
        seeds: seed_pair(Some(1), 3),
        unseeded: false,
        reshuffle: true,
        counter: std::sync::Arc::default(),
    };
    let ds = Dataset::from_plan(range(7).plan().then(shuffle).unwrap()).repeat(3).unwrap();
    let got: Vec<i64> = rows(&ds).concat();
    assert_eq!(&got[..5], &[1, 2, 4, 0, 6]);
    assert_eq!(got.len(), 21);
    for epoch in got.chunks(7) {
        let mut sorted = epoch.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..7).collect::<Vec<_>>());
    }
    assert_ne!(got[..7], got[7..14]);
}

#[test]
fn making_an_iterator_takes_an_epoch_and_derived_datasets_share_it() {
    let base = range(50).shuffle(50, Some(5), true).unwrap();
    let first = rows(&base);
    let second = rows(&base);
    assert_ne!(first, second);
    let again = range(50).shuffle(50, Some(5), true).unwrap();
    drop(again.iter().unwrap());
    assert_eq!(rows(&again.take(-1).unwrap()), second);
}

#[test]
fn interleave_takes_turns() {
    let ds = range(3)
        .interleave(2, 2, |p| {
            let plan = gristmill::plan::dataset::Range {
                start: Operand::int(0),
                stop: Operand::int(3),
                step: Operand::int(1),
                dtype: DType::I64,
            };
            let inner = Dataset::from_plan(gristmill::plan::Plan::new(plan, Vec::new())?);
            assert!(p[0].is_param());
            Ok(inner)
        })
        .unwrap();
    assert_eq!(rows(&ds).concat(), vec![0, 1, 0, 1, 2, 2, 0, 1, 2]);
}

#[test]
fn batches_keep_the_rest_unless_dropped() {
    assert_eq!(rows(&range(7).batch(3, false).unwrap()), vec![vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    assert_eq!(rows(&range(7).batch(3, true).unwrap()), vec![vec![0, 1, 2], vec![3, 4, 5]]);
}

#[test]
fn cache_freezes_what_comes_before_it() {
    let ds = range(20).shuffle(20, Some(1), true).unwrap().cache().unwrap();
    let first = rows(&ds);
    assert_eq!(rows(&ds), first);
    // A partial first pass is continued by the next one.
    let partial = range(20).shuffle(20, Some(1), true).unwrap().cache().unwrap();
    let mut it = partial.iter().unwrap();
    for _ in 0..5 {
        it.next_element().unwrap().unwrap();
    }
    drop(it);
    assert_eq!(rows(&partial), first);
}

#[test]
fn an_error_takes_its_element_and_the_rest_goes_on() {
    gristmill::init();
    gristmill_testkit::fail::register();
    let ds = range(9)
        .map(|x| f::call("test.fail_if_multiple", &[&x[0]], vec![("of", gristmill::plan::Attr::Int(4))]))
        .unwrap();
    let got: Vec<Result<i64, String>> = ds
        .iter()
        .unwrap()
        .map(|r| r.map(|v| v[0].tensor().unwrap().item().unwrap()).map_err(|e| e.message().to_string()))
        .collect();
    let bad = |i: i64| format!("{i} is a multiple of 4");
    let e = |i| Err(bad(i));
    assert_eq!(got, vec![e(0), Ok(1), Ok(2), Ok(3), e(4), Ok(5), Ok(6), Ok(7), e(8)]);
    // Inside a batch it takes the elements of the batch that came before it.
    let batches: Vec<Result<Vec<i64>, String>> = ds
        .batch(2, false)
        .unwrap()
        .iter()
        .unwrap()
        .map(|r| r.map(|v| v[0].tensor().unwrap().to_i64s().unwrap()).map_err(|e| e.message().to_string()))
        .collect();
    let e = |i| Err(bad(i));
    assert_eq!(batches, vec![e(0), Ok(vec![1, 2]), e(4), Ok(vec![5, 6]), e(8)]);
    assert_eq!(rows(&ds.ignore_errors().unwrap()).concat(), vec![1, 2, 3, 5, 6, 7]);
}

#[test]
fn unlike_shapes_in_a_batch_are_one_clear_error() {
    let parts = Tensor::vector(&[1i64, 2, 3]);
    let ds = Dataset::from_tensor_slices(vec![parts.into()])
        .unwrap()
        .map(|x| {
            let zero = x[0].constant(Tensor::scalar(0i64));
            let one = x[0].constant(Tensor::scalar(1i64));
            f::call("range", &[&zero, &x[0], &one], Vec::new())
        })
        .unwrap()
        .batch(3, false)
        .unwrap();
    let e = ds.iter().unwrap().next().unwrap().unwrap_err().to_string();
    assert!(e.contains("[1]") && e.contains("[2]") && e.contains("batch"), "{e}");
}
