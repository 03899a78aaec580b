//! The passes for two blocks in 256 bits.

use std::arch::x86_64::{
    _mm256_add_epi16 as add16, _mm256_add_epi32 as add32, _mm256_madd_epi16 as madd,
    _mm256_mulhi_epi16 as mulhi16, _mm256_packs_epi32 as pack32, _mm256_set1_epi16 as set16,
    _mm256_set1_epi32 as set32, _mm256_setzero_si256 as zero, _mm256_slli_epi16 as shl16,
    _mm256_srai_epi32 as sar32, _mm256_sub_epi16 as sub16, _mm256_sub_epi32 as sub32,
    _mm256_unpackhi_epi16 as high16, _mm256_unpackhi_epi32 as high32, _mm256_unpackhi_epi64 as high64,
    _mm256_unpacklo_epi16 as low16, _mm256_unpacklo_epi32 as low32, _mm256_unpacklo_epi64 as low64,
};

use super::passes::passes;

passes!(std::arch::x86_64::__m256i, i32, "avx2");
