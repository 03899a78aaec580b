//! A hash that is the same on every machine and in every version.

/// FNV-1a, 64 bits (Fowler, Noll, Vo): for fingerprints and for telling damage, not against malice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    /// Takes bytes in.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    /// Takes bytes in, then their number, so that two runs of fields differ wherever a border does.
    pub fn field(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
        self.bytes(&(bytes.len() as u64).to_le_bytes());
    }

    /// The hash of what was taken in.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_and_borders() {
        let hash = |parts: &[&str]| {
            let mut h = Fnv::default();
            parts.iter().for_each(|p| h.field(p.as_bytes()));
            h.value()
        };
        let mut plain = Fnv::default();
        assert_eq!(plain.value(), 0xCBF2_9CE4_8422_2325);
        plain.bytes(b"foobar");
        assert_eq!(plain.value(), 0x8594_4171_F739_67E8);
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
