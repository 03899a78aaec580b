//! Hashes that decide order and splits. They are a promise: the same names and seed give the same files for ever, so
//! nothing here may depend on the standard library's hashers, which may change.

const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finishing steps of MurmurHash3 (Austin Appleby, public domain): every bit depends on every bit.
fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// A running 128-bit hash; not meant to withstand someone who looks for collisions.
#[derive(Debug, Clone)]
pub(crate) struct Hasher {
    a: u64,
    b: u64,
}

impl Hasher {
    /// A hasher whose results differ from those of other seeds.
    pub(crate) fn new(seed: u64) -> Self {
        Self { a: mix(seed ^ PRIME), b: mix(seed.wrapping_add(PRIME)) }
    }

    /// Takes in a number.
    pub(crate) fn number(&mut self, value: u64) {
        self.a = (self.a.rotate_left(29) ^ mix(value ^ self.b)).wrapping_mul(PRIME);
        self.b = mix(self.b.wrapping_add(self.a) ^ value.rotate_left(32));
    }

    /// Takes in a text and its length.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.number(u64::from_le_bytes(word));
        }
        self.number(bytes.len() as u64);
    }

    /// 64 well mixed bits.
    pub(crate) fn short(&self) -> u64 {
        mix(self.a ^ self.b.rotate_left(17))
    }

    /// All 128 bits in hexadecimal.
    pub(crate) fn hex(&self) -> String {
        format!("{:016x}{:016x}", mix(self.a), mix(self.b ^ self.a.rotate_left(7)))
    }
}

/// The hash of a text for one purpose under one seed.
pub(crate) fn of(seed: u64, purpose: &str, text: &[u8]) -> u64 {
    let mut hasher = Hasher::new(seed);
    hasher.bytes(purpose.as_bytes());
    hasher.bytes(text);
    hasher.short()
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

    const VALUES: [u64; 3] = [0xebbf_f736_7b47_1f37, 0x3d0d_aaba_2567_cf2f, 0x59ca_6a72_f071_0b54];

    #[test]
    fn spread_evenly() {
        let mut buckets = [0u32; 16];
        for i in 0..16_000u32 {
            buckets[(of(7, "x", format!("class/{i:05}.jpg").as_bytes()) >> 60) as usize] += 1;
        }
        assert!(buckets.iter().all(|&n| (850..1150).contains(&n)), "{buckets:?}");
    }

    #[test]
    fn lengths_count() {
        assert_ne!(of(0, "", b"a"), of(0, "", b"a\0"));
        assert_ne!(of(0, "ab", b"c"), of(0, "a", b"bc"));
    }
}
