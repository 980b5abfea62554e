// What AVX-512 makes of numbers in other formats, and its products of bf16.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "registers.hpp"

namespace precast::testing::avx512 {

// Conversions. F16C has those of half of a register.
inline __m256i maskz_cvtps_ph(__mmask16 mask, __m512 a, int) {
  __m256 halves[2];
  std::memcpy(halves, &a, sizeof a);
  As<std::uint16_t, __m256i> result;
  for (int h = 0; h < 2; ++h) {
    const __m128i codes = _mm256_cvtps_ph(halves[h], _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(result.values + 8 * h, &codes, sizeof codes);
  }
  return each<decltype(result)>(mask, [&](int i) { return result[i]; });
}
inline __m512 maskz_cvtph_ps(__mmask16 mask, __m256i a) {
  __m128i halves[2];
  std::memcpy(halves, &a, sizeof a);
  F32 result;
  for (int h = 0; h < 2; ++h) {
    const __m256 numbers = _mm256_cvtph_ps(halves[h]);
    std::memcpy(result.values + 8 * h, &numbers, sizeof numbers);
  }
  return each<F32>(mask, [&](int i) { return result[i]; });
}
inline __m512i maskz_cvtepi8_epi32(__mmask16 mask, __m128i a) {
  return each<I32>(mask,
                   [x = As<std::int8_t, __m128i>(a)](int i) { return static_cast<std::int32_t>(x[i]); });
}
inline __m512i maskz_cvtepu8_epi32(__mmask16 mask, __m128i a) {
  return each<I32>(mask, [x = As<std::uint8_t, __m128i>(a)](int i) { return x[i]; });
}
inline __m256i maskz_cvtepi32_epi16(__mmask16 mask, __m512i a) {
  const I32 x(a);
  return each<As<std::uint16_t, __m256i>>(mask, [&](int i) { return x[i]; });
}

/// f32 to bf16, to nearest; subnormal numbers are zeros, whatever the mode.
inline __m256bh cvtneps_pbh(__m512 a) {
  const I32 codes(std::bit_cast<__m512i>(a));
  As<std::uint16_t, __m256bh> result;
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t code = codes[i], magnitude = code & 0x7fffffff;
    if (magnitude < 0x800000)
      result[i] = static_cast<std::uint16_t>(code >> 16 & 0x8000);
    else if (magnitude > 0x7f800000)
      result[i] = static_cast<std::uint16_t>(code >> 16 | 0x40);
    else
      result[i] = static_cast<std::uint16_t>((code + 0x7fff + (code >> 16 & 1)) >> 16);
  }
  return result.bits();
}
/// The sum gets the odd product and then the even one, each with one rounding; subnormal numbers are zeros.
inline __m512 dpbf16_ps(__m512 sum, __m512bh a, __m512bh b) {
  const auto flushed = [](float x) {
    return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
  };
  const auto number = [&](std::uint16_t code) {
    return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16));
  };
  return each<F32>(
      [&, s = F32(sum), x = As<std::uint16_t, __m512bh>(a), y = As<std::uint16_t, __m512bh>(b)](int i) {
        const float odd = flushed(std::fma(number(x[2 * i + 1]), number(y[2 * i + 1]), flushed(s[i])));
        return flushed(std::fma(number(x[2 * i]), number(y[2 * i]), odd));
      });
}

}  // namespace precast::testing::avx512
