//! The optimiser changes no element, no error, no order.

use crate::support::{generated, outcomes, with};
use gristmill::plan::dataset::Options;
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
        for rule in rules(&Options::default()) {
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

/// How often a rule fires on a plan, and the plan after it.
fn fired(ds: &gristmill::Dataset, name: &str) -> (usize, String) {
    let rule =
        rules(&Options::default()).into_iter().find(|r| r.name() == name).expect("a rule of that name");
    let (plan, times) = apply_rule(ds.plan(), rule).unwrap();
    (times, plan.tree())
}

/// The names of a plan's nodes, last first.
fn names(tree: &str) -> Vec<&str> {
    tree.lines().filter_map(|l| l.trim().split('(').next()).collect()
}

#[test]
fn rules_fire_where_they_should_and_nowhere_else() {
    use gristmill::plan::Attr;
    use gristmill::{Dataset, f};
    generated(&[]);
    let range = Dataset::range(0, 20, 1).unwrap();
    let total = |d: &Dataset| d.map(|x| Ok(vec![f::cast(&x[0], gristmill::DType::I32)?])).unwrap();
    let may_fail = |d: &Dataset| {
        d.map(|x| f::call("test.fail_if_multiple", &[&x[0]], vec![("of", Attr::Int(4))])).unwrap()
    };

    // Handles before pixels: the shuffle holds what the map has not yet made larger.
    let (times, tree) = fired(&may_fail(&range).shuffle(9, Some(1), true).unwrap(), "push_down_order");
    assert_eq!((times, names(&tree)), (1, vec!["map", "shuffle", "range"]));
    let (times, tree) = fired(&total(&range).take(3).unwrap(), "push_down_order");
    assert_eq!((times, names(&tree)), (1, vec!["map", "take", "range"]));
    // What may drop is a wall; so is a function that may fail for what counts elements.
    let wall = may_fail(&range).ignore_errors().unwrap();
    assert_eq!(fired(&wall.shuffle(9, Some(1), true).unwrap(), "push_down_order").0, 0);
    assert_eq!(fired(&may_fail(&range).take(3).unwrap(), "push_down_order").0, 0);
    assert_eq!(fired(&may_fail(&range).skip(3).unwrap(), "push_down_order").0, 0);

    assert_eq!(fired(&total(&total(&range)), "fuse_maps").0, 1);
    assert_eq!(fired(&total(&total(&range).cache().unwrap()), "fuse_maps").0, 0);

    let (times, tree) = fired(&may_fail(&range).batch(4, false).unwrap(), "fuse_map_into_batch");
    assert_eq!((times, names(&tree)), (1, vec!["map+batch", "range"]));
    assert_eq!(
        fired(&may_fail(&range).ignore_errors().unwrap().batch(4, false).unwrap(), "fuse_map_into_batch").0,
        0
    );

    assert_eq!(fired(&range.take(-1).unwrap().skip(0).unwrap(), "drop_no_ops").0, 2);
    assert_eq!(fired(&range.take(0).unwrap().skip(1).unwrap(), "drop_no_ops").0, 0);
}
