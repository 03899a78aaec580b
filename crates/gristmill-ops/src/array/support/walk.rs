//! Walking over several broadcast operands at once in runs that are as long as possible.

use gristmill_types::Shape;
use gristmill_types::shape::MAX_RANK;

/// The merged dimensions of an iteration space, and how far each of `K` operands moves per step.
#[derive(Clone, Debug)]
pub(crate) struct Walk<const K: usize> {
    pub(crate) dims: [usize; MAX_RANK],
    pub(crate) steps: [[usize; K]; MAX_RANK],
    pub(crate) rank: usize,
    empty: bool,
}

impl<const K: usize> Walk<K> {
    /// Row-major over `out`, to which the operands broadcast.
    pub(crate) fn new(out: &Shape, operands: [&Shape; K]) -> Self {
        let rank = out.rank();
        let mut steps = [[0usize; K]; MAX_RANK];
        for (k, shape) in operands.iter().enumerate() {
            let mut step = 1;
            for (back, &d) in shape.dims().iter().rev().enumerate() {
                steps[rank - 1 - back][k] = if d == 1 { 0 } else { step };
                step *= d;
            }
        }
        Self::with_steps(out, steps)
    }

    /// Row-major over `out` with these steps per dimension.
    pub(crate) fn with_steps(out: &Shape, all: [[usize; K]; MAX_RANK]) -> Self {
        let mut walk =
            Self { dims: [1; MAX_RANK], steps: [[0; K]; MAX_RANK], rank: 0, empty: out.count() == 0 };
        for (&n, s) in out.dims().iter().zip(all) {
            if n == 1 {
                continue;
            }
            let last = walk.rank.wrapping_sub(1);
            if walk.rank > 0 && (0..K).all(|k| walk.steps[last][k] == s[k].wrapping_mul(n)) {
                walk.dims[last] *= n;
                walk.steps[last] = s;
            } else {
                walk.dims[walk.rank] = n;
                walk.steps[walk.rank] = s;
                walk.rank += 1;
            }
        }
        walk.rank = walk.rank.max(1);
        walk
    }

    /// Calls `f(out_start, n, starts, steps)` for every innermost run.
    pub(crate) fn each(&self, mut f: impl FnMut(usize, usize, [usize; K], [usize; K])) {
        if self.empty {
            return;
        }
        let inner = self.rank - 1;
        let (n, step) = (self.dims[inner], self.steps[inner]);
        let mut at = [0usize; MAX_RANK];
        let mut starts = [0usize; K];
        let mut out = 0;
        loop {
            f(out, n, starts, step);
            out += n;
            let mut d = inner;
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                at[d] += 1;
                for (s, step) in starts.iter_mut().zip(self.steps[d]) {
                    *s = s.wrapping_add(step);
                }
                if at[d] < self.dims[d] {
                    break;
                }
                for (s, step) in starts.iter_mut().zip(self.steps[d]) {
                    *s = s.wrapping_sub(step.wrapping_mul(at[d]));
                }
                at[d] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::support::shapes::broadcast;
    use proptest::prelude::*;

    /// Index by index, from the definition of broadcasting.
    fn naive(out: &Shape, s: &Shape) -> Vec<usize> {
        (0..out.count())
            .map(|mut i| {
                let (mut at, mut step, mut k) = (0, 1, s.rank());
                for &d in out.dims().iter().rev() {
                    let p = i % d;
                    i /= d;
                    if k > 0 {
                        k -= 1;
                        if s.dims()[k] > 1 {
                            at += p * step;
                        }
                        step *= s.dims()[k];
                    }
                }
                at
            })
            .collect()
    }

    proptest! {
        #[test]
        fn visits_what_broadcasting_says(
            full in prop::collection::vec(0usize..4, 0..5),
            mask in prop::collection::vec(any::<(bool, bool)>(), 5),
            cut in (0usize..3, 0usize..3),
        ) {
            let shrink = |pick: &dyn Fn(&(bool, bool)) -> bool, cut: usize| {
                let d: Vec<usize> = full.iter().zip(&mask).map(|(&d, m)| if pick(m) { 1 } else { d }).collect();
                Shape::new(&d[cut.min(d.len())..]).unwrap()
            };
            let (a, b) = (shrink(&|m| m.0, cut.0), shrink(&|m| m.1, cut.1));
            let out = broadcast(&a, &b).unwrap();
            let (mut x, mut y, mut next) = (Vec::new(), Vec::new(), 0);
            Walk::new(&out, [&a, &b]).each(|o, n, s, step| {
                assert_eq!(o, next);
                next += n;
                for i in 0..n {
                    x.push(s[0] + i * step[0]);
                    y.push(s[1] + i * step[1]);
                }
            });
            prop_assert_eq!(x, naive(&out, &a));
            prop_assert_eq!(y, naive(&out, &b));
        }
    }
}
