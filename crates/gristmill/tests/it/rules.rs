//! The optimiser changes no element, no error, no order.

use crate::support::{generated, outcomes, with};
use gristmill::plan::optimize::{apply_rule, rules};
use gristmill::runtime::DatasetIterator;
use gristmill_testkit::wrong::{PushBelowDrops, TakeFewer};
use proptest::prelude::*;

const LIMIT: usize = 400;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn optimised_equals_unoptimised(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut seen = Vec::new();
        for optimize in [false, true] {
            let plan = with(&generated(&bytes), 2, optimize);
            // Two passes: the second has other random values and other orders.
            for _ in 0..2 {
                seen.push(outcomes(&mut without_entropy(&plan), LIMIT));
            }
        }
        prop_assert_eq!(&seen[0], &seen[2]);
        prop_assert_eq!(&seen[1], &seen[3]);
    }

    #[test]
    fn threads_do_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let one = outcomes(&mut without_entropy(&with(&generated(&bytes), 1, true)), LIMIT);
        for threads in [2, 8] {
            let many = outcomes(&mut without_entropy(&with(&generated(&bytes), threads, true)), LIMIT);
            prop_assert_eq!(&one, &many);
        }
    }

    #[test]
    fn each_rule_alone_changes_nothing(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let plain = outcomes(&mut without_entropy(&with(&generated(&bytes), 2, false)), LIMIT);
        for rule in rules() {
            let (rewritten, _) = apply_rule(&generated(&bytes), rule).unwrap();
            let out = outcomes(&mut without_entropy(&with(&rewritten, 2, false)), LIMIT);
            prop_assert_eq!(&plain, &out, "{}", rule.name());
        }
    }
}

/// A pass whose unseeded random ops draw the same numbers each time.
fn without_entropy(plan: &gristmill::plan::Plan) -> DatasetIterator {
    DatasetIterator::with_entropy(plan, 42).unwrap()
}

#[test]
fn wrong_rules_are_caught() {
    let mut caught = [0, 0];
    for seed in 0..200u8 {
        let bytes: Vec<u8> = (0..40u8)
            .map(|i| seed.wrapping_mul(31).wrapping_add(i.wrapping_mul(i).wrapping_mul(7)))
            .collect();
        let plan = generated(&bytes);
        for (n, rule) in
            [&PushBelowDrops as &dyn gristmill::plan::optimize::Rule, &TakeFewer].into_iter().enumerate()
        {
            match apply_rule(&plan, rule) {
                Ok((_, 0)) => {}
                Ok((after, _)) => panic!("{} got through:\n{}\n{}", rule.name(), plan.tree(), after.tree()),
                Err(e) => {
                    assert!(e.to_string().contains(rule.name()), "{e}");
                    caught[n] += 1;
                }
            }
        }
    }
    assert!(caught[0] > 0 && caught[1] > 0, "{caught:?}");
}
