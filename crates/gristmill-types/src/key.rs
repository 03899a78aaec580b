//! Who an element is, whatever happens to the plan.

use crate::rng::philox_block;

/// The 128-bit name of an element: made at its source from (source, iteration, ordinal) and
/// extended by what multiplies elements. Random ops draw from it, so that no rewrite, thread count
/// or arrival order changes a random value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Key(pub u128);

/// Domain separators, so that e.g. child 3 and epoch 3 of one element differ.
const CHILD: u32 = 1;
const EPOCH: u32 = 2;
const JOIN: u32 = 3;

impl Key {
    /// The root of a source: its place in the plan and the iteration number taken at `iter()`.
    pub fn root(source: u64, iteration: u64) -> Self {
        Self(mix(u128::from(source) << 64 | u128::from(iteration), 0, 0))
    }

    /// The key of the element at that ordinal of the source whose root this is.
    #[must_use]
    #[inline]
    pub fn at(self, ordinal: u64) -> Self {
        Self(self.0 ^ mix(self.0, 4, ordinal))
    }

    /// The key of the element's `i`-th child (`flat_map`, `interleave`, `unbatch`).
    #[must_use]
    #[inline]
    pub fn child(self, i: u64) -> Self {
        Self(mix(self.0, CHILD, i))
    }

    /// The key of the element in pass `n` of a `repeat`; pass 0 differs from the element itself.
    #[must_use]
    pub fn epoch(self, n: u64) -> Self {
        Self(mix(self.0, EPOCH, n))
    }

    /// The key of an element that is made of others (`batch`, `zip`).
    pub fn join(keys: impl IntoIterator<Item = Self>) -> Self {
        let mut n = 0;
        let mut acc = 0;
        for key in keys {
            acc = mix(acc ^ key.0, JOIN, n);
            n += 1;
        }
        Self(mix(acc, JOIN, n))
    }
}

/// One Philox block keyed by `what` over the counter made of the key and `n`: a good 128-bit mixer.
fn mix(key: u128, what: u32, n: u64) -> u128 {
    let a = philox_block(
        [key as u32 ^ what, (key >> 32) as u32],
        [(key >> 64) as u32, (key >> 96) as u32, n as u32, (n >> 32) as u32],
    );
    u128::from(a[0]) | u128::from(a[1]) << 32 | u128::from(a[2]) << 64 | u128::from(a[3]) << 96
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn relatives_all_differ() {
        let mut seen = HashSet::new();
        for source in 0..3 {
            for iteration in 0..3 {
                let root = Key::root(source, iteration);
                for i in 0..20 {
                    let k = root.at(i);
                    for relative in
                        [k, k.child(0), k.child(1), k.epoch(0), k.epoch(1), Key::join([k]), Key::join([k, k])]
                    {
                        assert!(seen.insert(relative), "{source} {iteration} {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn join_sees_order() {
        let (a, b) = (Key(1), Key(2));
        assert_ne!(Key::join([a, b]), Key::join([b, a]));
    }
}
