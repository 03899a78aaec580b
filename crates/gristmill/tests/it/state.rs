//! Any plan, any cut, any number of threads: continued = uninterrupted.

use crate::support::{generated, outcomes, step, with};
use gristmill::plan::dataset::Tensors;
use gristmill::plan::{Operand, Plan};
use gristmill::runtime::DatasetIterator;
use gristmill::types::Structure;
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

/// The rest after `cut` elements, uninterrupted and continued on a plan made anew.
fn both(make: impl Fn() -> gristmill::Dataset, cut: usize) -> [Vec<crate::support::Outcome>; 2] {
    let mut whole = make().iter().unwrap();
    for _ in 0..cut {
        step(&mut whole);
    }
    let state = whole.state();
    let mut continued = make().resume(&state).unwrap();
    [outcomes(&mut whole, LIMIT), outcomes(&mut continued, LIMIT)]
}

#[test]
fn instances_of_a_template_made_after_a_resume_use_the_seeds_of_the_state() {
    let make = || {
        let inner = gristmill::Dataset::range(0, 12, 1).unwrap().shuffle(5, None, true).unwrap();
        let outer = gristmill::Dataset::range(0, 4, 1).unwrap();
        outer.flat_map(move |_| Ok(inner.clone())).unwrap()
    };
    for cut in [1, 12, 13, 40] {
        let [rest, continued] = both(make, cut);
        assert_eq!((continued.len(), &continued), (48 - cut, &rest), "after {cut}");
    }
}

#[test]
fn a_dataset_opened_again_by_a_resume_takes_no_epoch_from_the_cache_beside_it() {
    let make = || {
        let ds = gristmill::Dataset::range(0, 6, 1).unwrap().shuffle(2, Some(5), true).unwrap();
        let ds = ds.repeat(3).unwrap().cache().unwrap();
        let structure = Structure::Leaf(0);
        let one = |x: &[Operand]| Plan::new(Tensors { structure, components: x.to_vec() }, Vec::new());
        ds.flat_map(|x| one(x).map(gristmill::Dataset::from_plan)).unwrap()
    };
    for cut in 1..8 {
        let [rest, continued] = both(make, cut);
        assert_eq!(continued, rest, "after {cut}");
    }
}
