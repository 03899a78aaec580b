//! A fold gives what folding the outcomes of an iterator one by one gives.

use crate::support::{generated, outcomes, with};
use gristmill::runtime::DatasetIterator;
use gristmill::{Dataset, Tensor, Value, f};
use proptest::prelude::*;

/// Outcomes of a pass at most: some plans have no end.
const LIMIT: usize = 2000;

fn folded(ds: &Dataset) -> Result<i64, String> {
    // The square needs the element alone, the rest needs the state.
    let step = |s: &[f::Sym], x: &[f::Sym]| {
        let square = f::multiply(&x[0], &x[0])?;
        let factor = s[0].constant(Tensor::scalar(31i64));
        Ok(vec![f::add(&f::multiply(&s[0], &factor)?, &f::add(&square, &x[0])?)?])
    };
    let state = ds.reduce(vec![Tensor::scalar(7i64).into()], step).map_err(|e| e.message().to_string())?;
    Ok(state[0].tensor().unwrap().item::<i64>().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_fold_is_that_of_the_outcomes(bytes in prop::collection::vec(any::<u8>(), 0..60), threads in 1u64..4) {
        let plan = with(&generated(&bytes), threads, true);
        let all = outcomes(&mut DatasetIterator::with_entropy(&plan, 1).unwrap(), LIMIT);
        prop_assume!(all.len() < LIMIT);
        // Made again: a pass takes epochs of shuffles.
        let plan = with(&generated(&bytes), threads, true);
        let got = folded(&Dataset::from_plan(plan.clone()));
        prop_assume!(plan.impure_ops().is_empty());
        let expected = all.into_iter().try_fold(7i64, |s, x| {
            let x = x?;
            Ok::<i64, String>(s.wrapping_mul(31).wrapping_add(x.wrapping_mul(x)).wrapping_add(x))
        });
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn a_state_of_another_kind_is_refused() {
    let ds = Dataset::range(0, 3, 1).unwrap();
    let start = || vec![Value::from(Tensor::scalar(0i64))];
    let none = ds.reduce(start(), |_, _| Ok(Vec::new())).unwrap_err();
    assert!(none.message().contains("initial_state=1, output=0"), "{}", none.message());
    let float = ds.reduce(start(), |s, _| Ok(vec![s[0].constant(Tensor::scalar(0f32))])).unwrap_err();
    assert!(float.message().contains("Expected int64() but got float32()"), "{}", float.message());
}
