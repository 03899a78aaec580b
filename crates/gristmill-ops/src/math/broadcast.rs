//! Running a function of two over broadcast operands.

use crate::array::support::walk::Walk;
use gristmill_types::{Element, Shape};

/// Rows shorter than this are repeated into longer ones before the loop.
const SHORT: usize = 64;

/// Writes `f(x, y)` for every element of `shape`, to which both broadcast.
pub(crate) fn zip<A: Element, B: Element, O>(
    (x, xs): (&[A], &Shape),
    (y, ys): (&[B], &Shape),
    out: &mut [O],
    shape: &Shape,
    f: impl Fn(A, B) -> O + Copy,
) {
    if xs == ys {
        return pairs(x, y, out, f);
    }
    let walk = Walk::new(shape, [xs, ys]);
    if walk.rank == 2 && walk.dims[1] < SHORT && walk.dims[0] > 1 && walk.steps[1] == [1, 1] {
        // One side is a short row under many: an image and its channels' means.
        let row = walk.dims[1];
        let times = (4 * SHORT / row.max(1)).clamp(1, walk.dims[0]);
        if walk.steps[0] == [row, 0] && row > 0 {
            let y: Vec<B> = y[..row].repeat(times);
            for (x, out) in x.chunks(y.len()).zip(out.chunks_mut(y.len())) {
                pairs(x, &y[..x.len()], out, f);
            }
            return;
        }
        if walk.steps[0] == [0, row] && row > 0 {
            let x: Vec<A> = x[..row].repeat(times);
            for (y, out) in y.chunks(x.len()).zip(out.chunks_mut(x.len())) {
                pairs(&x[..y.len()], y, out, f);
            }
            return;
        }
    }
    walk.each(|o, n, [i, j], steps| {
        let out = &mut out[o..o + n];
        match steps {
            [1, 1] => pairs(&x[i..i + n], &y[j..j + n], out, f),
            [1, 0] => {
                let b = y[j];
                for (o, a) in out.iter_mut().zip(&x[i..i + n]) {
                    *o = f(*a, b);
                }
            }
            [0, 1] => {
                let a = x[i];
                for (o, b) in out.iter_mut().zip(&y[j..j + n]) {
                    *o = f(a, *b);
                }
            }
            [p, q] => {
                for (k, o) in out.iter_mut().enumerate() {
                    *o = f(x[i + k * p], y[j + k * q]);
                }
            }
        }
    });
}

#[inline(always)]
fn pairs<A: Copy, B: Copy, O>(x: &[A], y: &[B], out: &mut [O], f: impl Fn(A, B) -> O) {
    for ((o, a), b) in out.iter_mut().zip(x).zip(y) {
        *o = f(*a, *b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::support::shapes::broadcast;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_agrees_with_the_definition(
            full in prop::collection::vec(1usize..6, 1..4),
            ones in prop::collection::vec(any::<(bool, bool)>(), 4),
            cut in (0usize..4, 0usize..4),
        ) {
            let make = |pick: &dyn Fn(&(bool, bool)) -> bool, cut: usize| {
                let d: Vec<usize> = full.iter().zip(&ones).map(|(&d, o)| if pick(o) { 1 } else { d }).collect();
                Shape::new(&d[cut.min(d.len())..]).unwrap()
            };
            let (a, b) = (make(&|o| o.0, cut.0), make(&|o| o.1, cut.1));
            let shape = broadcast(&a, &b).unwrap();
            let x: Vec<i32> = (0..a.count() as i32).collect();
            let y: Vec<i32> = (0..b.count() as i32).map(|v| v * 1000).collect();
            let mut out = vec![0; shape.count()];
            zip((&x, &a), (&y, &b), &mut out, &shape, |p, q| p + q);
            for (i, v) in out.iter().enumerate() {
                let at = |s: &Shape| {
                    let (mut i, mut at, mut step) = (i, 0, 1);
                    for (back, &d) in shape.dims().iter().rev().enumerate() {
                        if back < s.rank() {
                            let own = s.dims()[s.rank() - 1 - back];
                            at += if own == 1 { 0 } else { i % d * step };
                            step *= own;
                        }
                        i /= d;
                    }
                    at
                };
                prop_assert_eq!(*v, x[at(&a)] + y[at(&b)]);
            }
        }
    }
}
