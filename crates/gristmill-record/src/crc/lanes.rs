//! The checksums of four short payloads at a time.
//!
//! The processor's CRC instruction takes eight bytes and can begin one every cycle, but its result comes three cycles
//! later, and the next eight bytes of the same payload need it. Four payloads in turn fill that time. Processors that
//! multiply 64 bytes at once do without it (`fold`): what the four share there is one call.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod fold;

use super::crc32c;

/// Payloads at a time.
pub(crate) const LANES: usize = 4;
/// Longer payloads are folded with carry-less multiplication, which is faster there.
pub(crate) const SHORT: usize = 1024;

/// The CRC32C of each.
#[inline]
pub(crate) fn crc32c_of_four(payloads: [&[u8]; LANES]) -> [u32; LANES] {
    #[cfg(target_arch = "x86_64")]
    if fold::is_here() && payloads.iter().all(|p| p.len() >= fold::LEAST) {
        // SAFETY: the processor has what it needs.
        return unsafe { x86::folded_four(payloads) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has SSE4.2.
        return unsafe { x86::of_four(payloads) };
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("crc") {
        // SAFETY: the processor has the CRC extension.
        return unsafe { arm::of_four(payloads) };
    }
    payloads.map(crc32c)
}

/// Writes `of_four` for the instructions that take eight bytes and one byte.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! of_four {
    ($feature:literal, $state:ty, $eight:expr, $one:expr) => {
        #[target_feature(enable = $feature)]
        pub(super) fn of_four(payloads: [&[u8]; LANES]) -> [u32; LANES] {
            let mut states: [$state; LANES] = [u32::MAX.into(); LANES];
            let shortest = payloads.iter().map(|p| p.len()).min().unwrap_or(0) / 8;
            let [a, b, c, d] = payloads.map(|p| &p.as_chunks::<8>().0[..shortest]);
            for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
                states[0] = $eight(states[0], u64::from_le_bytes(*a));
                states[1] = $eight(states[1], u64::from_le_bytes(*b));
                states[2] = $eight(states[2], u64::from_le_bytes(*c));
                states[3] = $eight(states[3], u64::from_le_bytes(*d));
            }
            let mut sums = [0; LANES];
            for ((sum, mut state), payload) in sums.iter_mut().zip(states).zip(payloads) {
                let (words, bytes) = payload[8 * shortest..].as_chunks::<8>();
                for word in words {
                    state = $eight(state, u64::from_le_bytes(*word));
                }
                // The instructions leave the upper half of a state zero.
                let mut state = state as u32;
                for byte in bytes {
                    state = $one(state, *byte);
                }
                *sum = !state;
            }
            sums
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, fold};
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

    #[target_feature(enable = "avx512bw,avx512f,vpclmulqdq,sse4.2")]
    pub(super) fn folded_four(payloads: [&[u8]; LANES]) -> [u32; LANES] {
        let mut sums = [0; LANES];
        for (sum, payload) in sums.iter_mut().zip(payloads) {
            *sum = fold::crc32c(payload);
        }
        sums
    }

    of_four!("sse4.2", u64, _mm_crc32_u64, _mm_crc32_u8);
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::LANES;
    use std::arch::aarch64::{__crc32cb, __crc32cd};

    of_four!("crc", u32, __crc32cd, __crc32cb);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_at_a_time_are_four_alone() {
        let data: Vec<u8> = (0..4 * SHORT as u32).map(|i| ((i * i) >> 3) as u8).collect();
        for n in 0..80 {
            let lengths = [n, (n * 7) % 61, SHORT - n, (n * n) % 300];
            let payloads = [0, 1, 2, 3].map(|k| &data[k * SHORT + k..][..lengths[k].min(SHORT - k)]);
            assert_eq!(crc32c_of_four(payloads), payloads.map(crc32c), "{lengths:?}");
        }
    }
}
