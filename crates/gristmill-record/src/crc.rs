//! CRC32C (Castagnoli; "CRC-32/ISCSI" in the catalogues) and the mask that record files put on it.
//!
//! Long inputs go through `crc-fast`, which folds with carry-less multiplication; short ones that lie
//! behind each other are taken four at a time. The eight bytes of a length field do not repay that
//! call, so they go through a table of our own; salvage, which needs running states, uses the same
//! table.

pub(crate) mod lanes;

/// What the mask adds after rotating: a stored checksum of data that itself contains checksums would
/// otherwise be weak (same constant as in LevelDB's and TensorFlow's formats).
const MASK_DELTA: u32 = 0xa282_ead8;

/// The reversed Castagnoli polynomial.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `TABLES[k][b]`: the state that byte `b` followed by `k` zero bytes leaves behind.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            state = if state & 1 == 1 { (state >> 1) ^ POLYNOMIAL } else { state >> 1 };
            bit += 1;
        }
        tables[0][byte] = state;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let previous = tables[k - 1][byte];
            tables[k][byte] = (previous >> 8) ^ tables[0][(previous & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// The CRC32C of `bytes`.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// The CRC32C of bytes that come in pieces.
#[derive(Clone)]
pub struct Running(crc_fast::Digest);

impl Running {
    /// Of no bytes so far.
    pub fn new() -> Self {
        Self(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi))
    }

    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.0.get_amount()
    }

    /// Their checksum.
    pub fn value(&self) -> u32 {
        // 32 bits wide.
        self.0.finalize() as u32
    }
}

impl Default for Running {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#010x} of {} bytes", self.value(), self.bytes())
    }
}

/// The CRC32C of the eight bytes of a length field.
#[inline]
pub fn crc32c_of_8(bytes: [u8; 8]) -> u32 {
    !step_8(!0, u64::from_le_bytes(bytes))
}

/// The mask: rotate right by 15 bits, add a constant.
#[inline]
pub const fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// The inverse of [`mask`].
#[inline]
pub const fn unmask(masked: u32) -> u32 {
    masked.wrapping_sub(MASK_DELTA).rotate_left(15)
}

/// The masked CRC32C of `bytes`, as it is stored behind a payload.
#[inline]
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    mask(crc32c(bytes))
}

/// The masked CRC32C of a length field, as it is stored behind the length.
#[inline]
pub fn masked_crc32c_of_length(length: u64) -> u32 {
    mask(crc32c_of_8(length.to_le_bytes()))
}

#[inline]
fn step_8(state: u32, word: u64) -> u32 {
    let x = word ^ u64::from(state);
    let byte = |i: u32| ((x >> (8 * i)) & 0xff) as usize;
    TABLES[7][byte(0)]
        ^ TABLES[6][byte(1)]
        ^ TABLES[5][byte(2)]
        ^ TABLES[4][byte(3)]
        ^ TABLES[3][byte(4)]
        ^ TABLES[2][byte(5)]
        ^ TABLES[1][byte(6)]
        ^ TABLES[0][byte(7)]
}

/// Extends a finished CRC32C by a few more bytes: `extend(crc32c(a), b) == crc32c(a + b)`. Byte for byte slower than
/// [`crc32c`].
pub fn extend(crc: u32, bytes: &[u8]) -> u32 {
    let mut state = !crc;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word: [u8; 8] = word.try_into().expect("chunks_exact gives eight bytes");
        state = step_8(state, u64::from_le_bytes(word));
    }
    for &byte in words.remainder() {
        state = (state >> 8) ^ TABLES[0][((state ^ u32::from(byte)) & 0xff) as usize];
    }
    !state
}

/// The CRC32C of `a + b`, from those of both, where `b` has `length` bytes: less than a microsecond, however long they
/// are.
pub fn concat(crc_a: u32, crc_b: u32, length: u64) -> u32 {
    crc_b ^ multiply(power_of_256(length), crc_a)
}

/// The CRC32C of `b`, from those of `a` and `a + b`, where `b` has `length` bytes.
pub(crate) fn of_suffix(crc_a: u32, crc_ab: u32, length: u64) -> u32 {
    concat(crc_a, crc_ab, length)
}

/// `POWERS[k]`: the polynomial x^(2^k), reduced. The first bit is the highest power.
static POWERS: [u32; 67] = powers();

const fn powers() -> [u32; 67] {
    let mut powers = [1 << 30; 67];
    let mut k = 1;
    while k < powers.len() {
        powers[k] = multiply(powers[k - 1], powers[k - 1]);
        k += 1;
    }
    powers
}

/// The product of two polynomials, reduced.
const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = 1 << 31;
    while bit != 0 {
        if a & bit != 0 {
            product ^= b;
        }
        b = if b & 1 == 1 { (b >> 1) ^ POLYNOMIAL } else { b >> 1 };
        bit >>= 1;
    }
    product
}

/// x^(8 n), reduced: what n bytes of zeros multiply a checksum by.
const fn power_of_256(mut n: u64) -> u32 {
    let mut product = 1 << 31;
    let mut k = 3;
    while n != 0 {
        if n & 1 == 1 {
            product = multiply(POWERS[k], product);
        }
        n >>= 1;
        k += 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_sum_up_to_the_whole() {
        let data: Vec<u8> = (0..5_000u32).map(|i| (i * 7) as u8).collect();
        let mut running = Running::new();
        for piece in data.chunks(777) {
            running.update(piece);
        }
        assert_eq!((running.value(), running.bytes()), (crc32c(&data), 5_000));
        assert_eq!(Running::default().value(), crc32c(&[]));
    }

    #[test]
    fn known_values() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
        // The two checksums of a file that holds one empty record.
        assert_eq!(masked_crc32c_of_length(0).to_le_bytes(), [0x29, 0x03, 0x98, 0x07]);
        assert_eq!(masked_crc32c(b"").to_le_bytes(), [0xd8, 0xea, 0x82, 0xa2]);
    }

    proptest! {
        #[test]
        fn table_equals_folding(a in prop::collection::vec(any::<u8>(), 0..300), b in prop::collection::vec(any::<u8>(), 0..300)) {
            let both = [a.clone(), b.clone()].concat();
            prop_assert_eq!(extend(0, &a), crc32c(&a));
            prop_assert_eq!(extend(crc32c(&a), &b), crc32c(&both));
            prop_assert_eq!(concat(crc32c(&a), crc32c(&b), b.len() as u64), crc32c(&both));
            prop_assert_eq!(of_suffix(crc32c(&a), crc32c(&both), b.len() as u64), crc32c(&b));
        }

        #[test]
        fn eight_bytes_and_mask(word in any::<u64>(), crc in any::<u32>()) {
            prop_assert_eq!(crc32c_of_8(word.to_le_bytes()), crc32c(&word.to_le_bytes()));
            prop_assert_eq!(unmask(mask(crc)), crc);
        }
    }
}
