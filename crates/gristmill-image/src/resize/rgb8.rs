//! The row that training pipelines interpolate most: three channels of 8 bits, between columns, with AVX2. The same
//! bits as the loops for all types.
#![allow(unsafe_code)]

use super::Tap;
use super::simd::lerp_columns;

/// One row of RGB bytes interpolated between columns, straight from the bytes. `row` may go on after the row's own
/// samples; `dst` has at least four samples more than there are taps times three.
///
/// Where the machine has no AVX2, the loop for all types runs.
pub(crate) fn lerp_columns_rgb8(row: &[u8], taps: &[Tap], dst: &mut [f32]) {
    assert!(dst.len() >= taps.len() * 3 + 4, "the result is padded by four samples");
    let done = by_vectors(row, taps, dst);
    // `lerp_columns` writes whole pixels only, so that what is done stays.
    lerp_columns(row, &taps[done..], 3, &mut dst[done * 3..]);
}

/// As many taps, from the first on, as vector code does; gives their number. `dst` is padded.
#[cfg(target_arch = "x86_64")]
fn by_vectors(row: &[u8], taps: &[Tap], dst: &mut [f32]) -> usize {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return 0;
    }
    // SAFETY: the feature was just detected; the room after the result, asserted by the caller.
    unsafe { pairs(row, taps, dst) }
}

/// None here.
#[cfg(not(target_arch = "x86_64"))]
fn by_vectors(_: &[u8], _: &[Tap], _: &mut [f32]) -> usize {
    0
}

/// Two pixels at a time, as far as eight bytes can be read at each tap; gives the number done.
///
/// # Safety
///
/// The machine has AVX2, and `dst` four samples more than the taps' pixels.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn pairs(row: &[u8], taps: &[Tap], dst: &mut [f32]) -> usize {
    use std::arch::x86_64::{
        _mm_loadl_epi64, _mm_set1_ps, _mm_setr_epi8, _mm_shuffle_epi8, _mm_srli_si128, _mm_storeu_ps,
        _mm_unpacklo_epi64, _mm256_add_ps, _mm256_castps256_ps128, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32,
        _mm256_extractf128_ps, _mm256_mul_ps, _mm256_set_m128, _mm256_sub_ps,
    };
    // Of two pixels with their right neighbours: both left ones, then both right ones.
    let order = _mm_setr_epi8(0, 1, 2, 3, 8, 9, 10, 11, 3, 4, 5, 6, 11, 12, 13, 14);
    let Some(limit) = row.len().checked_sub(8) else { return 0 };
    let (mut done, dst) = (0, dst.as_mut_ptr());
    for pair in taps.chunks_exact(2) {
        let (p, q) = (pair[0], pair[1]);
        let next_to_each_other = |t: Tap| t.high == t.low + 3 || t.high == t.low;
        if p.low.max(q.low) as usize > limit || !next_to_each_other(p) || !next_to_each_other(q) {
            break;
        }
        // At an edge both neighbours are one pixel, whose share of a difference of 0 is 0 whatever the fraction.
        let share = |t: Tap| if t.high == t.low { 0.0 } else { t.fraction };
        // SAFETY: eight bytes after both positions lie inside the row, as just checked; four samples after the second
        // pixel lie inside the result, as the caller grants, and are written before the next pair's.
        unsafe {
            let bytes = |t: Tap| _mm_loadl_epi64(row.as_ptr().add(t.low as usize).cast());
            let both = _mm_shuffle_epi8(_mm_unpacklo_epi64(bytes(p), bytes(q)), order);
            let left = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(both));
            let right = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128::<8>(both)));
            let shares = _mm256_set_m128(_mm_set1_ps(share(q)), _mm_set1_ps(share(p)));
            let mixed = _mm256_add_ps(left, _mm256_mul_ps(_mm256_sub_ps(right, left), shares));
            let out = dst.add(done * 3);
            _mm_storeu_ps(out, _mm256_castps256_ps128(mixed));
            _mm_storeu_ps(out.add(3), _mm256_extractf128_ps::<1>(mixed));
        }
        done += 2;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bits_as_the_loop_for_all_types() {
        let row: Vec<u8> = (0..41 * 3).map(|i| (i * 89 % 251) as u8).collect();
        for (from, to) in [(41, 20), (41, 41), (41, 97), (2, 9), (1, 5), (3, 1), (41, 224)] {
            let step = from as f32 / to as f32;
            for mirrored in [false, true] {
                let mut taps: Vec<Tap> = (0..to).map(|x| crate::resize::tap(x, from, step, 3)).collect();
                if mirrored {
                    taps.reverse();
                }
                let own = &row[..from * 3];
                let mut expected = vec![f32::NAN; to * 3 + 4];
                lerp_columns(own, &taps, 3, &mut expected[..to * 3]);
                for given in [own, &row] {
                    let mut found = vec![f32::NAN; to * 3 + 4];
                    lerp_columns_rgb8(given, &taps, &mut found);
                    let bits = |v: &[f32]| v[..to * 3].iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&found), bits(&expected), "{from} to {to}");
                }
            }
        }
    }
}
