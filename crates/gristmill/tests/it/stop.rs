//! Dropping an iterator stops what it started; budgets never stop progress.

use gristmill::plan::dataset::Options;
use gristmill::{Dataset, f};
use std::time::{Duration, Instant};

#[test]
fn dropping_stops_work_that_would_never_end() {
    let endless = [
        Dataset::range(0, i64::MAX, 1).unwrap().filter(|x| f::less(&x[0], &x[0])).unwrap(),
        Dataset::range(0, i64::MAX, 1).unwrap().skip(i64::MAX - 1).unwrap(),
        Dataset::range(0, i64::MAX, 1).unwrap().shuffle(i64::MAX, Some(1), true).unwrap(),
        Dataset::range(0, 0, 1).unwrap().repeat(-1).unwrap(),
    ];
    for ds in endless {
        let mut it = ds.iter().unwrap();
        let _ = it.poll_element(Duration::from_millis(30));
        let start = Instant::now();
        drop(it);
        assert!(start.elapsed() < Duration::from_secs(1), "{}", ds.plan().tree());
    }
}

#[test]
fn a_small_budget_slows_but_never_stops() {
    let small = Options { ram_budget: Some(1 << 20), ..Options::default() };
    let large = Dataset::range(0, 40, 1)
        .unwrap()
        .map(|x| {
            let shape = x[0].constant(gristmill::types::Tensor::vector(&[300_000i32]));
            f::call("fill", &[&shape, &x[0]], Vec::new())
        })
        .unwrap();
    let shuffled = large.shuffle(20, Some(1), true).unwrap().batch(4, false).unwrap();
    let slow = large.batch(5, false).unwrap().unbatch().unwrap();
    let fast = Dataset::range(0, 1_000_000, 1).unwrap();
    for ds in [shuffled, Dataset::zip(&[slow, fast]).unwrap(), large.prefetch(Some(64)).unwrap()] {
        // The reader keeps everything, so no memory comes back.
        let kept: Vec<_> =
            ds.with_options(small.clone()).unwrap().iter().unwrap().map(Result::unwrap).collect();
        assert!(kept.len() == 40 || kept.len() == 10, "{}", kept.len());
    }
}
