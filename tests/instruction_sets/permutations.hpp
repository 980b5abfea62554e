// What AVX-512 moves: tables that are looked up by indices, and parts of registers.
#pragma once

#include <bit>
#include <cstdint>

#include "registers.hpp"

namespace precast::testing::avx512 {

// Permutations: an index of a table has as many bits as the table has values.
template <class Array>
__m512i permuted(std::uint64_t mask, __m512i index, __m512i a) {
  return each<Array>(mask, [at = Array(index), x = Array(a)](int i) { return x[at[i] % Array::count]; });
}
inline __m512i maskz_permutexvar_epi8(__mmask64 mask, __m512i index, __m512i a) {
  return permuted<I8>(mask, index, a);
}
inline __m512i maskz_permutexvar_epi16(__mmask32 mask, __m512i index, __m512i a) {
  return permuted<I16>(mask, index, a);
}
inline __m512i maskz_permutexvar_epi32(__mmask16 mask, __m512i index, __m512i a) {
  return permuted<I32>(mask, index, a);
}
inline __m512 maskz_permutexvar_ps(__mmask16 mask, __m512i index, __m512 a) {
  return std::bit_cast<__m512>(permuted<I32>(mask, index, std::bit_cast<__m512i>(a)));
}
inline __m512i mask_permutexvar_epi8(__m512i from, __mmask64 mask, __m512i index, __m512i a) {
  return each<I8>(
      [&, f = I8(from), at = I8(index), x = I8(a)](int i) { return bit(mask, i) ? x[at[i] % 64] : f[i]; });
}
template <class Array>
__m512i permuted_of_two(__m512i a, __m512i index, __m512i b) {
  return each<Array>([at = Array(index), x = Array(a), y = Array(b)](int i) {
    const int place = at[i] % (2 * Array::count);
    return place < Array::count ? x[place] : y[place - Array::count];
  });
}
/// Eight bits of a number of 64 bits, which goes on from its lowest after its highest.
inline __m512i maskz_multishift_epi64_epi8(__mmask64 mask, __m512i shifts, __m512i a) {
  return each<I8>(mask, [at = I8(shifts), x = As<std::uint64_t, __m512i>(a)](int i) {
    return std::rotr(x[i / 8], at[i] % 64) & 0xff;
  });
}
inline __m512i permutex2var_epi8(__m512i a, __m512i index, __m512i b) {
  return permuted_of_two<I8>(a, index, b);
}
inline __m512i permutex2var_epi16(__m512i a, __m512i index, __m512i b) {
  return permuted_of_two<I16>(a, index, b);
}
inline __m512i permutex2var_epi32(__m512i a, __m512i index, __m512i b) {
  return permuted_of_two<I32>(a, index, b);
}

// Parts.
inline __m256i maskz_extracti64x4_epi64(__mmask8 mask, __m512i a, int half) {
  const As<std::uint64_t, __m512i> x(a);
  return each<As<std::uint64_t, __m256i>>(mask, [&](int i) { return x[4 * half + i]; });
}
inline __m512i maskz_inserti64x4(__mmask8 mask, __m512i a, __m256i b, int half) {
  return each<As<std::uint64_t, __m512i>>(
      mask, [&, x = As<std::uint64_t, __m512i>(a), y = As<std::uint64_t, __m256i>(b)](int i) {
        return i / 4 == half ? y[i % 4] : x[i];
      });
}
inline __m512i maskz_broadcast_i64x4(__mmask8 mask, __m256i a) {
  return each<As<std::uint64_t, __m512i>>(mask,
                                          [x = As<std::uint64_t, __m256i>(a)](int i) { return x[i % 4]; });
}
inline __m512i maskz_broadcast_i32x4(__mmask16 mask, __m128i a) {
  return each<I32>(mask, [x = As<std::uint32_t, __m128i>(a)](int i) { return x[i % 4]; });
}
inline __m512 mask_broadcastss_ps(__m512 from, __mmask16 mask, __m128 a) {
  return each<F32>(
      [&, f = F32(from), x = As<float, __m128>(a)](int i) { return bit(mask, i) ? x[0] : f[i]; });
}

}  // namespace precast::testing::avx512
