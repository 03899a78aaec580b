//! Batches that are so short that one worker makes several of them in turn, and maps over short blocks.

use crate::support::{short_blocks, with};
use gristmill::plan::Plan;
use gristmill::runtime::{DatasetIterator, StageReport};
use gristmill::{Dataset, Tensor, Value, f};

/// What a batch is: its numbers or the message of an error.
type Outcome = Result<Vec<i64>, String>;

/// `[x + 100 // (x % 997)]` of numbers: every 997th has no value.
fn divided(ds: &Dataset) -> Dataset {
    let ds = ds.map(|x| {
        let rest = &f::call("math.floormod", &[&x[0], &x[0].constant(Tensor::scalar(997i64))], vec![])?[0];
        let share = &f::call("math.floordiv", &[&x[0].constant(Tensor::scalar(100i64)), rest], vec![])?[0];
        // An op that is not elementwise, so that a batch behind it becomes one stage with it.
        let one = x[0].constant(Tensor::vector(&[1i64]));
        f::call("reshape", &[&f::add(&x[0], share)?, &one], vec![])
    });
    ds.unwrap()
}

fn batches(n: i64, size: i64, threads: u64, optimize: bool) -> Plan {
    let ds = divided(&Dataset::range(0, n, 1).unwrap());
    with(ds.batch(size, false).unwrap().plan(), threads, optimize)
}

/// One by one, out of blocks of so many.
fn blocks(n: i64, size: i64, threads: u64, optimize: bool) -> Plan {
    with(divided(&short_blocks(n, size)).prefetch(Some(1000)).unwrap().plan(), threads, optimize)
}

fn outcome(element: gristmill::Result<Vec<Value>>) -> Outcome {
    element.map(|v| v[0].tensor().unwrap().to_i64s().unwrap()).map_err(|e| e.message().to_string())
}

fn rest(it: &mut DatasetIterator) -> Vec<Outcome> {
    std::iter::from_fn(|| it.next_element()).map(outcome).collect()
}

fn stage(it: &DatasetIterator, name: &str) -> StageReport {
    it.report().0.into_iter().find(|s| s.name.starts_with(name)).expect("a stage of that name")
}

#[test]
fn an_error_takes_its_batch_or_element_only_and_any_place_is_a_state() {
    type Make = fn(i64, i64, u64, bool) -> Plan;
    let batched: [(Make, i64, i64); 4] =
        [(batches, 20_000, 7), (batches, 20_000, 256), (batches, 5_000, 1), (batches, 3_001, 3_000)];
    // What a short block takes is not worth a worker's while.
    let mapped: [(Make, i64, i64); 3] = [(blocks, 20_000, 512), (blocks, 20_000, 7), (blocks, 5_000, 1)];
    for (i, (make, n, size)) in batched.into_iter().chain(mapped).enumerate() {
        let handed_over = i <= batched.len();
        let plain = rest(&mut DatasetIterator::new(&make(n, size, 2, false)).unwrap());
        assert!(plain.iter().any(Result::is_err), "{n} by {size}");
        for threads in [1, 3] {
            let plan = make(n, size, threads, true);
            let mut it = DatasetIterator::new(&plan).unwrap();
            assert_eq!(rest(&mut it), plain, "{n} by {size}");
            let workers = stage(&it, "map").ahead_room > 0;
            assert!(workers || !handed_over, "{n} by {size} on the spot");
            for cut in [0, 1, plain.len() / 3, plain.len() - 1] {
                let mut it = DatasetIterator::new(&plan).unwrap();
                (0..cut).for_each(|_| drop(it.next_element()));
                let state = it.state();
                drop(it);
                let mut continued = DatasetIterator::resume(&plan, &state).unwrap();
                assert_eq!(rest(&mut continued), plain[cut..], "{n} by {size} from {cut}");
            }
        }
    }
}

#[test]
fn an_error_has_few_other_batches_made_again() {
    // Of single elements none: an error moves no batch behind it. Of others as many as keep the workers busy.
    for (size, most) in [(1, 20_000), (3, 9_000)] {
        let mut it = DatasetIterator::new(&batches(20_000, size, 2, true)).unwrap();
        rest(&mut it);
        let made = stage(&it, "map+batch").runs;
        assert!(made <= most, "batches of {size}: {made} blocks");
    }
}

#[test]
fn batches_that_an_error_gives_up_are_not_made() {
    // Each number takes about as long as what a worker is given at a time, and the first has no value.
    let ds = Dataset::range(0, 320, 1).unwrap().map(|x| {
        let many = x[0].constant(Tensor::vector(&[400_000i64]));
        let slow = &f::call("math.reduce_sum", &[&f::call("fill", &[&many, &x[0]], vec![])?[0]], vec![])?[0];
        let one = &f::call("math.floordiv", &[slow, &x[0]], vec![])?[0];
        f::call("reshape", &[one, &x[0].constant(Tensor::vector(&[1i64]))], vec![])
    });
    let plan = with(ds.unwrap().batch(64, false).unwrap().plan(), 2, true);
    let mut it = DatasetIterator::new(&plan).unwrap();
    let got = rest(&mut it);
    assert!(got[0].is_err() && got[1..].iter().all(Result::is_ok));
    // Of the first batch and of those behind it only what workers were at is made twice.
    let made = stage(&it, "map+batch").bytes_in / 8;
    assert!(made < 320 + 60, "{made} numbers");
}
