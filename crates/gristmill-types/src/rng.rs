//! Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
//! SC 2011) and the ways in which TensorFlow draws from it.

/// `2^31 - 1`: TensorFlow takes seeds modulo this.
pub const SEED_MODULUS: u64 = (1 << 31) - 1;
/// The graph seed that TensorFlow uses where `set_seed` was not called.
pub const DEFAULT_GRAPH_SEED: u64 = 87_654_321;

/// Blocks that [`Philox::fill`] makes side by side: enough that the multiplications of some hide how long those of
/// others take.
const SIDE_BY_SIDE: usize = 8;

/// Ten rounds of Philox 4x32 over a counter.
#[inline]
pub fn philox_block(key: [u32; 2], [first, rest @ ..]: [u32; 4]) -> [u32; 4] {
    let [block] = philox_blocks(key, [first], rest);
    block
}

/// The blocks of counters that differ in their first word, each word in the lower half of one of 64 bits, for which
/// processors have vector multiplications.
#[inline]
fn philox_blocks<const N: usize>(key: [u32; 2], first: [u32; N], rest: [u32; 3]) -> [[u32; 4]; N] {
    let low = |x: u64| x & 0xffff_ffff;
    let [mut k0, mut k1] = key;
    let mut c0 = first.map(u64::from);
    let [mut c1, mut c2, mut c3] = rest.map(|c| [u64::from(c); N]);
    for _ in 0..10 {
        for i in 0..N {
            let p0 = 0xD251_1F53 * low(c0[i]);
            let p1 = 0xCD9E_8D57 * low(c2[i]);
            c0[i] = (p1 >> 32) ^ low(c1[i]) ^ u64::from(k0);
            c2[i] = (p0 >> 32) ^ low(c3[i]) ^ u64::from(k1);
            c1[i] = p1;
            c3[i] = p0;
        }
        (k0, k1) = (k0.wrapping_add(0x9E37_79B9), k1.wrapping_add(0xBB67_AE85));
    }
    std::array::from_fn(|i| [c0[i], c1[i], c2[i], c3[i]].map(|c| c as u32))
}

/// A stream of 32-bit words, four a block, as TensorFlow's `PhiloxRandom` behind a single-sample
/// adapter gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Philox {
    key: [u32; 2],
    counter: [u32; 4],
    block: [u32; 4],
    used: u8,
}

impl Philox {
    /// The stream with that key and counter.
    pub fn new(key: [u32; 2], counter: [u32; 4]) -> Self {
        Self { key, counter, block: [0; 4], used: 4 }
    }

    /// TensorFlow's `PhiloxRandom(lo, hi)`: `lo` is the key, `hi` the upper half of the counter.
    pub fn seeded(lo: u64, hi: u64) -> Self {
        Self::new([lo as u32, (lo >> 32) as u32], [0, 0, hi as u32, (hi >> 32) as u32])
    }

    /// The stream of the `stateless_*` functions for `seed=[a, b]`.
    pub fn stateless(a: u64, b: u64) -> Self {
        let m = philox_block(
            [0x3EC8_F720, 0x0246_1E29],
            [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32],
        );
        Self::new([m[0], m[1]], [0, 0, m[2], m[3]])
    }

    /// The next four words; what is left of a block begun word by word is dropped.
    pub fn next_block(&mut self) -> [u32; 4] {
        let out = philox_block(self.key, self.counter);
        for c in &mut self.counter {
            *c = c.wrapping_add(1);
            if *c != 0 {
                break;
            }
        }
        self.used = 4;
        out
    }

    /// The next word.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.used == 4 {
            self.block = self.next_block();
            self.used = 0;
        }
        let w = self.block[self.used as usize];
        self.used += 1;
        w
    }

    /// The next words, as that many calls of [`Philox::next_u32`] would give them.
    pub fn fill(&mut self, out: &mut [u32]) {
        let begun = usize::from(4 - self.used).min(out.len());
        let (head, rest) = out.split_at_mut(begun);
        head.iter_mut().for_each(|w| *w = self.next_u32());
        let (blocks, tail) = rest.as_chunks_mut::<4>();
        let (many, blocks) = blocks.as_chunks_mut::<SIDE_BY_SIDE>();
        for blocks in many {
            let [first, rest @ ..] = self.counter;
            match first.checked_add(SIDE_BY_SIDE as u32) {
                Some(next) => {
                    *blocks = philox_blocks(self.key, std::array::from_fn(|i| first + i as u32), rest);
                    self.counter[0] = next;
                }
                // The carry goes through the words of the counter.
                None => blocks.iter_mut().for_each(|b| *b = self.next_block()),
            }
        }
        blocks.iter_mut().for_each(|b| *b = self.next_block());
        tail.iter_mut().for_each(|w| *w = self.next_u32());
    }

    /// Passes over `words` words.
    pub fn skip(&mut self, words: u64) {
        let left = u64::from(4 - self.used);
        if words <= left {
            self.used += words as u8;
            return;
        }
        let words = words - left;
        let low = u128::from(self.counter[0])
            | u128::from(self.counter[1]) << 32
            | u128::from(self.counter[2]) << 64
            | u128::from(self.counter[3]) << 96;
        let next = low.wrapping_add(u128::from(words / 4));
        self.counter = [next as u32, (next >> 32) as u32, (next >> 64) as u32, (next >> 96) as u32];
        self.used = 4;
        for _ in 0..words % 4 {
            self.next_u32();
        }
    }
}

/// The seed pair that TensorFlow makes of a graph seed and an op seed.
pub fn seed_pair(graph: Option<i64>, op: i64) -> (u64, u64) {
    let a = graph.map_or(DEFAULT_GRAPH_SEED, |g| g.rem_euclid(SEED_MODULUS as i64) as u64);
    let b = op.rem_euclid(SEED_MODULUS as i64) as u64;
    if (a, b) == (0, 0) { (0, SEED_MODULUS) } else { (a, b) }
}

/// A float32 in `[0, 1)` from the low 23 bits of a word, as TensorFlow makes it.
#[inline]
pub fn uniform_f32(word: u32) -> f32 {
    f32::from_bits(word & 0x007F_FFFF | 0x3F80_0000) - 1.0
}

/// A float64 in `[0, 1)` from 20 bits of the first word and all of the second.
#[inline]
pub fn uniform_f64(first: u32, second: u32) -> f64 {
    f64::from_bits(0x3FF0_0000_0000_0000 | u64::from(first & 0xF_FFFF) << 32 | u64::from(second)) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // Philox 4x32-10 known-answer vectors published with Random123.
        assert_eq!(philox_block([0; 2], [0; 4]), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        assert_eq!(
            philox_block([u32::MAX; 2], [u32::MAX; 4]),
            [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]
        );
    }

    #[test]
    fn filling_equals_drawing() {
        for start in 0..6 {
            for n in [0, 1, 5, 22, 31, 40, 101, 700] {
                let mut a = Philox::new([1, 2], [u32::MAX - 90, u32::MAX, 4, 5]);
                (0..start).for_each(|_| {
                    a.next_u32();
                });
                let mut b = a.clone();
                let mut filled = vec![0; n];
                a.fill(&mut filled);
                assert_eq!(filled, (0..n).map(|_| b.next_u32()).collect::<Vec<_>>(), "{start} {n}");
                assert_eq!(a.next_u32(), b.next_u32(), "{start} {n}");
            }
        }
    }

    #[test]
    fn skipping_equals_drawing() {
        for start in 0..6 {
            for n in 0..23 {
                let mut a = Philox::seeded(1, 2);
                let mut b = a.clone();
                for _ in 0..start {
                    a.next_u32();
                    b.next_u32();
                }
                for _ in 0..n {
                    a.next_u32();
                }
                b.skip(n);
                assert_eq!(a.next_u32(), b.next_u32(), "{start} {n}");
            }
        }
    }

    #[test]
    fn seeds_are_taken_modulo() {
        assert_eq!(seed_pair(None, 5), (DEFAULT_GRAPH_SEED, 5));
        assert_eq!(seed_pair(Some(0), 0), (0, SEED_MODULUS));
        assert_eq!(seed_pair(Some(1), SEED_MODULUS as i64 + 3), (1, 3));
    }
}
