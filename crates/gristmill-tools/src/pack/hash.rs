//! The hash that decides order and splits. It is a promise: the same names and seed give the same files for ever, so
//! nothing here may depend on the standard library's hashers, which may change.

use gristmill_types::hash::Fnv;
use gristmill_types::rng::philox_block;

/// Told apart from other draws under the same seed: "Pack".
const PURPOSE: u32 = 0x5061_636b;

/// The hash of a text for one purpose under one seed: 64 well mixed bits, from Philox keyed by the seed with the text's
/// FNV-1a as counter.
pub(crate) fn of(seed: u64, purpose: &str, text: &[u8]) -> u64 {
    let mut hash = Fnv::default();
    hash.field(purpose.as_bytes());
    hash.field(text);
    let halves = |v: u64| [v as u32, (v >> 32) as u32];
    let [low, high] = halves(hash.value());
    let block = philox_block(halves(seed), [low, high, 0, PURPOSE]);
    u64::from(block[1]) << 32 | u64::from(block[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These values may never change: packed data sets would be split and ordered anew.
    #[test]
    fn values_are_kept_for_ever() {
        let found = [of(0, "split", b"a/1.jpg"), of(1, "split", b"a/1.jpg"), of(0, "order", b"")];
        assert_eq!(found, VALUES);
    }

    const VALUES: [u64; 3] =
        [5_439_887_572_562_434_772, 2_623_615_700_400_655_255, 3_244_309_040_070_953_112];

    #[test]
    fn spread_evenly() {
        for seed in [0, 7, u64::MAX] {
            let mut buckets = [0u32; 16];
            for i in 0..16_000u32 {
                buckets[(of(seed, "x", format!("class/{i:05}.jpg").as_bytes()) >> 60) as usize] += 1;
            }
            assert!(buckets.iter().all(|&n| (850..1150).contains(&n)), "{buckets:?}");
        }
    }

    /// Ranks under one seed say nothing of those under another.
    #[test]
    fn seeds_are_independent() {
        let hash = |seed, i: u32| of(seed, "split", format!("a/{i}.jpg").as_bytes()) >> 63;
        for seed in 1..20 {
            let same = (0..4000).filter(|&i| hash(0, i) == hash(seed, i)).count();
            assert!((1850..2150).contains(&same), "{seed}: {same}");
        }
    }

    #[test]
    fn lengths_count() {
        assert_ne!(of(0, "", b"a"), of(0, "", b"a\0"));
        assert_ne!(of(0, "ab", b"c"), of(0, "a", b"bc"));
    }
}
