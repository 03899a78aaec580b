//! The rows of many elements at once are those of one after the other.

use crate::support::{Outcome, outcomes, step};
use gristmill::plan::dataset::Unbatch;
use gristmill::types::Shape;
use gristmill::{Dataset, Sym, Tensor, f};

fn call(name: &str, inputs: &[&Sym]) -> gristmill::Result<Sym> {
    Ok(f::call(name, inputs, vec![])?.swap_remove(0))
}

/// `x % most` times each number, and no rows but an error where `x % 7` is 6.
fn copies(n: i64, most: i64) -> (Dataset, Vec<Outcome>) {
    let ds = Dataset::range(0, n, 1).unwrap().map(move |x| {
        let number = |n: i64| x[0].constant(Tensor::scalar(n));
        let from_six = call("math.subtract", &[&call("math.floormod", &[&x[0], &number(7)])?, &number(6)])?;
        let zero = call("math.floordiv", &[&number(0), &from_six])?;
        let rows = call(
            "reshape",
            &[&call("math.floormod", &[&x[0], &number(most)])?, &x[0].constant(Tensor::vector(&[1i64]))],
        )?;
        Ok(vec![call("fill", &[&rows, &call("math.add", &[&x[0], &zero])?])?])
    });
    let expected = (0..n).flat_map(|x| match x % 7 {
        6 => vec![Err(())],
        _ => vec![Ok(x); usize::try_from(x % most).unwrap()],
    });
    let message = "integer division by zero";
    let expected = expected.map(|x| x.map_err(|()| message.to_string())).collect();
    (Dataset::from_plan(ds.unwrap().plan().then(Unbatch).unwrap()), expected)
}

/// `0..n` by way of batches.
fn batched(n: i64, size: i64) -> (Dataset, Vec<Outcome>) {
    let ds = Dataset::range(0, n, 1).unwrap().batch(size, false).unwrap();
    (ds.unbatch().unwrap(), (0..n).map(Ok).collect())
}

/// Nothing but empty elements, and one row behind them.
fn empty() -> (Dataset, Vec<Outcome>) {
    let slices = |numbers: &[i64], dims: &[usize]| {
        let t = Tensor::vector(numbers).reshaped(Shape::new(dims).unwrap()).unwrap();
        Dataset::from_tensor_slices(vec![t.into()]).unwrap()
    };
    let (nothing, one) = (slices(&[], &[300, 0]), slices(&[5], &[1, 1]));
    (nothing.concatenate(&one).unwrap().unbatch().unwrap(), vec![Ok(5)])
}

#[test]
fn rows_come_in_order_and_any_place_is_a_state() {
    for (ds, expected) in
        [copies(100, 4), copies(50, 1), copies(25, 300), batched(300, 7), batched(10, 10), empty()]
    {
        let mut it = ds.iter().unwrap();
        let got = outcomes(&mut it, usize::MAX);
        assert_eq!(got, expected);
        let mut it = ds.iter().unwrap();
        for cut in 0..=got.len() {
            let mut continued = ds.resume(&it.state()).unwrap();
            assert_eq!(outcomes(&mut continued, usize::MAX), got[cut..], "from {cut}");
            step(&mut it);
        }
    }
}

#[test]
fn short_elements_come_in_long_blocks() {
    let mut it = batched(100_000, 8).0.iter().unwrap();
    assert_eq!(outcomes(&mut it, usize::MAX).len(), 100_000);
    let stages = it.report().0;
    let unbatch = stages.iter().find(|s| s.name == "unbatch").unwrap();
    assert!(unbatch.blocks < 1000, "{unbatch:?}");
}
