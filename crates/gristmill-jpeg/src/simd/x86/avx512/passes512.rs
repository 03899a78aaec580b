//! The passes for four blocks in 512 bits.

use std::arch::x86_64::{
    _mm512_add_epi16 as add16, _mm512_add_epi32 as add32, _mm512_madd_epi16 as madd,
    _mm512_mulhi_epi16 as mulhi16, _mm512_packs_epi32 as pack32, _mm512_set1_epi16 as set16,
    _mm512_set1_epi32 as set32, _mm512_setzero_si512 as zero, _mm512_slli_epi16 as shl16,
    _mm512_srai_epi32 as sar32, _mm512_sub_epi16 as sub16, _mm512_sub_epi32 as sub32,
    _mm512_unpackhi_epi16 as high16, _mm512_unpackhi_epi32 as high32, _mm512_unpackhi_epi64 as high64,
    _mm512_unpacklo_epi16 as low16, _mm512_unpacklo_epi32 as low32, _mm512_unpacklo_epi64 as low64,
};

use crate::simd::vector::passes::passes;

passes!(std::arch::x86_64::__m512i, u32, "avx512f,avx512bw,avx512vl");
