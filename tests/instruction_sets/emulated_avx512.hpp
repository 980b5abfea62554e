// AVX-512 on a CPU that has AVX2: what the library calls of it, value by value, after Intel's Software
// Developer's Manual. Most machines that run the tests have no AVX-512; a unit that includes this before all
// else (-include) compiles the library's code for it, and runs. EMULATED_AVX512 is 1 for the first of such
// CPUs (Skylake), 2 for one that has all that the library uses (Zen 4).
#pragma once

#if defined(__AVX512F__)
#error "emulated_avx512.hpp: this is compiled for a CPU with AVX-512, which needs no emulation"
#endif

#include "arithmetic.hpp"
#include "conversions.hpp"
#include "permutations.hpp"

#define __AVX512F__ 1
#define __AVX512BW__ 1
#define __AVX512DQ__ 1
#define __AVX512VL__ 1
#if EMULATED_AVX512 > 1
#define __AVX512VBMI__ 1
#define __AVX512BF16__ 1
#endif

// By Intel's names. One that is not here is the compiler's own, which does not compile: add it.
#define _mm512_add_ps precast::testing::avx512::add_ps
#define _mm512_castps128_ps512 precast::testing::avx512::castps128_ps512
#define _mm512_castps256_ps512 precast::testing::avx512::castps256_ps512
#define _mm512_castsi256_si512 precast::testing::avx512::castsi256_si512
#define _mm512_cvtneps_pbh precast::testing::avx512::cvtneps_pbh
#define _mm512_dpbf16_ps precast::testing::avx512::dpbf16_ps
#define _mm512_fmadd_ps precast::testing::avx512::fmadd_ps
#define _mm512_fpclass_ps_mask precast::testing::avx512::fpclass_ps_mask
#define _mm512_load_ps precast::testing::avx512::load_ps
#define _mm512_loadu_ps precast::testing::avx512::loadu_ps
#define _mm512_loadu_si512 precast::testing::avx512::loadu_si512
#define _mm512_mask_broadcastss_ps precast::testing::avx512::mask_broadcastss_ps
#define _mm512_mask_max_ps precast::testing::avx512::mask_max_ps
#define _mm512_mask_permutexvar_epi8 precast::testing::avx512::mask_permutexvar_epi8
#define _mm512_maskz_broadcast_i32x4 precast::testing::avx512::maskz_broadcast_i32x4
#define _mm512_maskz_broadcast_i64x4 precast::testing::avx512::maskz_broadcast_i64x4
#define _mm512_maskz_cvtepi32_epi16 precast::testing::avx512::maskz_cvtepi32_epi16
#define _mm512_maskz_cvtepi8_epi32 precast::testing::avx512::maskz_cvtepi8_epi32
#define _mm512_maskz_cvtepu8_epi32 precast::testing::avx512::maskz_cvtepu8_epi32
#undef _mm512_maskz_cvtps_ph  // a macro of the compiler's where nothing is optimised
#define _mm512_maskz_cvtps_ph precast::testing::avx512::maskz_cvtps_ph
#define _mm512_maskz_cvtph_ps precast::testing::avx512::maskz_cvtph_ps
#define _mm512_maskz_extracti64x4_epi64 precast::testing::avx512::maskz_extracti64x4_epi64
#define _mm512_maskz_inserti64x4 precast::testing::avx512::maskz_inserti64x4
#define _mm512_maskz_multishift_epi64_epi8 precast::testing::avx512::maskz_multishift_epi64_epi8
#define _mm512_maskz_permutexvar_epi16 precast::testing::avx512::maskz_permutexvar_epi16
#define _mm512_maskz_permutexvar_epi32 precast::testing::avx512::maskz_permutexvar_epi32
#define _mm512_maskz_permutexvar_epi8 precast::testing::avx512::maskz_permutexvar_epi8
#define _mm512_maskz_permutexvar_ps precast::testing::avx512::maskz_permutexvar_ps
#define _mm512_maskz_scalef_ps precast::testing::avx512::maskz_scalef_ps
#define _mm512_maskz_sqrt_ps precast::testing::avx512::maskz_sqrt_ps
#define _mm512_mul_ps precast::testing::avx512::mul_ps
#define _mm512_permutex2var_epi16 precast::testing::avx512::permutex2var_epi16
#define _mm512_permutex2var_epi32 precast::testing::avx512::permutex2var_epi32
#define _mm512_permutex2var_epi8 precast::testing::avx512::permutex2var_epi8
#define _mm512_set1_epi32 precast::testing::avx512::set1_epi32
#define _mm512_set1_ps precast::testing::avx512::set1_ps
#define _mm512_setzero_ps precast::testing::avx512::setzero_ps
#define _mm512_storeu_ps precast::testing::avx512::storeu_ps
#define _mm512_ternarylogic_epi32 precast::testing::avx512::ternarylogic_epi32
#define _mm512_test_epi32_mask precast::testing::avx512::test_epi32_mask
