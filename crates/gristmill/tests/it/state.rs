//! Any plan, any cut, any number of threads: continued = uninterrupted.

use crate::support::{generated, outcomes, step, with};
use gristmill::runtime::DatasetIterator;
use proptest::prelude::*;

/// Elements looked at per pass.
const LIMIT: usize = 400;

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn continued_equals_uninterrupted(bytes in prop::collection::vec(any::<u8>(), 0..60), cut in 0usize..60, threads in 1u64..5, passes in 0usize..2) {
        let plan = with(&generated(&bytes), threads, true);
        for _ in 0..passes {
            outcomes(&mut DatasetIterator::new(&plan).unwrap(), LIMIT);
        }
        let mut whole = DatasetIterator::new(&plan).unwrap();
        for _ in 0..cut {
            if step(&mut whole).is_none() {
                break;
            }
        }
        let state = whole.state();
        let rest = outcomes(&mut whole, LIMIT);
        // The plan as another process would make it: nothing shared, other numbers of threads.
        let other = with(&generated(&bytes), 5 - threads, true);
        let mut continued = DatasetIterator::resume(&other, &state).unwrap();
        prop_assert_eq!(outcomes(&mut continued, LIMIT), rest);
    }
}

#[test]
fn a_state_of_another_plan_is_refused() {
    let a = generated(&[5, 1, 0, 1]);
    let b = generated(&[6, 1, 0, 1]);
    let state = DatasetIterator::new(&a).unwrap().state();
    let e = DatasetIterator::resume(&b, &state).err().expect("another plan");
    assert!(e.to_string().contains("another pipeline"), "{e}");
    for cut in 0..state.len() {
        assert!(DatasetIterator::resume(&a, &state[..cut]).is_err(), "{cut}");
    }
}

#[test]
fn a_state_is_some_hundred_bytes() {
    let ds = gristmill::Dataset::range(0, 100_000, 1).unwrap().shuffle(10_000, Some(1), true).unwrap();
    let ds = ds.batch(128, true).unwrap().repeat(-1).unwrap();
    let mut it = ds.iter().unwrap();
    for _ in 0..1000 {
        it.next_element().unwrap().unwrap();
    }
    assert!(it.state().len() < 400, "{} bytes", it.state().len());
}
