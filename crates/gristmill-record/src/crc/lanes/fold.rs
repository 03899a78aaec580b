//! Short payloads with the wide carry-less multiplication of AVX-512 processors.
//!
//! Sixteen bytes of a message are worth those that lie a distance behind them, once both their halves are multiplied
//! by powers of x that go with the distance (V. Gopal and others, "Fast CRC Computation for Generic Polynomials Using
//! PCLMULQDQ Instruction", Intel, 2009). So 64 bytes at a time are folded onto the next 64, and at last onto sixteen,
//! for which the CRC instruction is there. The remainder of the division by 64 comes first, behind zeros: they do not
//! change a state of zero, and the state that a CRC32C begins with is added to the first four bytes of the message.

use crate::crc::power_of_256;
use std::arch::x86_64::{
    __m128i, __m512i, _mm_crc32_u64, _mm_extract_epi64, _mm_xor_si128, _mm512_castsi512_si128,
    _mm512_clmulepi64_epi128, _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_loadu_epi8,
    _mm512_maskz_mov_epi64, _mm512_maskz_set1_epi8, _mm512_set_epi64, _mm512_ternarylogic_epi64,
    _mm512_xor_si512,
};

/// Bytes of a vector.
const WIDTH: usize = 64;
/// Bytes of a message at least.
pub(super) const LEAST: usize = 4;

/// What the halves of sixteen bytes are multiplied by to be worth those `distance` bytes behind them.
const fn powers(distance: u64) -> (i64, i64) {
    (power(distance + 4), power(distance - 4))
}

/// x^(8 n). Bits stand in reverse order, and the product of two such numbers is short of one place.
const fn power(n: u64) -> i64 {
    (power_of_256(n) as i64) << 1
}

/// Whether the processor has what [`crc32c`] needs.
#[inline]
pub(super) fn is_here() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512bw") && has!("avx512f") && has!("vpclmulqdq") && has!("sse4.2")
}

/// The CRC32C of a message of [`LEAST`] bytes or more.
#[target_feature(enable = "avx512bw,avx512f,vpclmulqdq,sse4.2")]
pub(super) fn crc32c(message: &[u8]) -> u32 {
    let first = (message.len() - 1) % WIDTH + 1;
    let (head, blocks) = message.split_at(first);
    let before = WIDTH - first;
    // The four first bytes may reach into the block behind the head.
    let initial = 0xf_u128 << before;
    // SAFETY: the mask leaves out the bytes before the message; no byte that is left out is read.
    let head = unsafe { _mm512_maskz_loadu_epi8(!0 << before, head.as_ptr().wrapping_sub(before).cast()) };
    let mut sum = _mm512_xor_si512(head, _mm512_maskz_set1_epi8(initial as u64, -1));
    let mut initial = _mm512_maskz_set1_epi8((initial >> WIDTH) as u64, -1);
    let (low, high) = const { powers(WIDTH as u64) };
    let onto_next = _mm512_set_epi64(high, low, high, low, high, low, high, low);
    for block in blocks.as_chunks::<WIDTH>().0 {
        // SAFETY: a block has as many bytes as are loaded.
        let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        sum = folded(sum, onto_next, _mm512_xor_si512(block, initial));
        initial = _mm512_xor_si512(initial, initial);
    }
    let ((a, b), (c, d), (e, f)) = const { (powers(48), powers(32), powers(16)) };
    // The last sixteen bytes stay as they are.
    let last = _mm512_maskz_mov_epi64(0b1100_0000, sum);
    let lanes = folded(sum, _mm512_set_epi64(0, 0, f, e, d, c, b, a), last);
    let sixteen = xor4(
        _mm512_castsi512_si128(lanes),
        _mm512_extracti32x4_epi32::<1>(lanes),
        _mm512_extracti32x4_epi32::<2>(lanes),
        _mm512_extracti32x4_epi32::<3>(lanes),
    );
    let state = _mm_crc32_u64(0, _mm_extract_epi64::<0>(sixteen) as u64);
    // The instruction leaves the upper half of a state zero.
    !(_mm_crc32_u64(state, _mm_extract_epi64::<1>(sixteen) as u64) as u32)
}

/// Each sixteen bytes times these powers, added to others.
#[target_feature(enable = "avx512f,vpclmulqdq")]
#[inline]
fn folded(sum: __m512i, powers: __m512i, onto: __m512i) -> __m512i {
    let low = _mm512_clmulepi64_epi128::<0x00>(sum, powers);
    let high = _mm512_clmulepi64_epi128::<0x11>(sum, powers);
    _mm512_ternarylogic_epi64::<0x96>(low, high, onto)
}

#[target_feature(enable = "sse2")]
#[inline]
fn xor4(a: __m128i, b: __m128i, c: __m128i, d: __m128i) -> __m128i {
    _mm_xor_si128(_mm_xor_si128(a, b), _mm_xor_si128(c, d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_length_has_its_checksum() {
        if !is_here() {
            return;
        }
        let data: Vec<u8> = (0..1200u32).map(|i| ((i * i + 5) >> 2) as u8).collect();
        for n in LEAST..=1100 {
            // At the very beginning of the memory too: nothing before a message may matter.
            for start in [0, 1, n % 64] {
                let message = &data[start..start + n];
                // SAFETY: the processor has what it needs.
                assert_eq!(unsafe { crc32c(message) }, crate::crc::crc32c(message), "{n} bytes from {start}");
            }
        }
    }
}
