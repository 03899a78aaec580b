//! A fast 64-bit checksum of bytes, which tells files apart. It is no protection against somebody who looks for two files
//! with the same one.

/// Odd numbers without a pattern, one for each lane.
const SEEDS: [u64; 8] = [
    0x9E37_79B9_7F4A_7C15,
    0xC2B2_AE3D_27D4_EB4F,
    0x1656_67B1_9E37_79F9,
    0xD6E8_FEB8_6659_FD93,
    0xA24B_AED4_963E_E407,
    0x9FB2_1C65_1E98_DF25,
    0xBF58_476D_1CE4_E5B9,
    0x94D0_49BB_1331_11EB,
];

/// Both halves of the product: every bit of the numbers changes about half of the result's.
#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Eight lanes take a word each, so that the multiplications do not wait for each other.
#[inline(always)]
fn add(lanes: &mut [u64; 8], chunk: &[u8; 64]) {
    for ((lane, word), seed) in lanes.iter_mut().zip(chunk.chunks_exact(8)).zip(SEEDS) {
        let word = u64::from_le_bytes(word.try_into().expect("8 bytes"));
        *lane = mix(*lane ^ word, seed);
    }
}

/// The checksum.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = SEEDS;
    lanes.rotate_left(1);
    let mut chunks = bytes.chunks_exact(64);
    for chunk in &mut chunks {
        add(&mut lanes, chunk.try_into().expect("64 bytes"));
    }
    let mut last = [0; 64];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    add(&mut lanes, &last);
    lanes.iter().zip(SEEDS).fold(bytes.len() as u64, |sum, (lane, seed)| mix(sum ^ lane, seed))
}

#[cfg(test)]
mod tests {
    use super::checksum;
    use std::collections::HashSet;

    #[test]
    fn every_bit_and_the_length_count() {
        let mut seen = HashSet::new();
        for length in 0..200 {
            let mut bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            assert!(seen.insert(checksum(&bytes)));
            for bit in 0..length * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(seen.insert(checksum(&bytes)));
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn it_stays_the_same() {
        assert_eq!(checksum(b""), 0xECFD_98C9_4240_AE8D);
        assert_eq!(checksum(&[7; 100]), 0x7E44_06EE_375C_42DD);
    }
}
