// What AVX-512 computes, value by value.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "registers.hpp"

namespace precast::testing::avx512 {

inline __m512 add_ps(__m512 a, __m512 b) {
  return each<F32>([&, x = F32(a), y = F32(b)](int i) { return x[i] + y[i]; });
}
inline __m512 mul_ps(__m512 a, __m512 b) {
  return each<F32>([&, x = F32(a), y = F32(b)](int i) { return x[i] * y[i]; });
}
inline __m512 fmadd_ps(__m512 a, __m512 b, __m512 c) {
  return each<F32>([&, x = F32(a), y = F32(b), z = F32(c)](int i) { return std::fma(x[i], y[i], z[i]); });
}
/// The second where either is NaN, or both are zero.
inline __m512 mask_max_ps(__m512 from, __mmask16 mask, __m512 a, __m512 b) {
  return each<F32>([&, f = F32(from), x = F32(a), y = F32(b)](int i) {
    return !bit(mask, i) ? f[i] : x[i] > y[i] ? x[i] : y[i];
  });
}
inline __m512 maskz_scalef_ps(__mmask16 mask, __m512 a, __m512 b) {
  return each<F32>(mask, [&, x = F32(a), y = F32(b)](int i) {
    return std::ldexp(x[i], static_cast<int>(std::clamp(std::floor(y[i]), -1000.0f, 1000.0f)));
  });
}
inline __m512 maskz_sqrt_ps(__mmask16 mask, __m512 a) {
  return each<F32>(mask,
                   [&, x = F32(a)](int i) { return x[i] < 0 ? NAN : std::sqrt(x[i]); });  // without errno
}
inline __mmask16 fpclass_ps_mask(__m512 a, int classes) {
  return mask_where([&, codes = I32(std::bit_cast<__m512i>(a))](int i) {
    const std::uint32_t code = codes[i], exponent = code >> 23 & 0xff, mantissa = code & 0x7fffff;
    const bool negative = code >> 31 != 0, nan = exponent == 0xff && mantissa != 0,
               quiet = (mantissa & 0x400000) != 0, infinite = exponent == 0xff && mantissa == 0,
               zero = exponent == 0 && mantissa == 0, subnormal = exponent == 0 && mantissa != 0;
    const bool is_of[8] = {nan && quiet,
                           zero && !negative,
                           zero && negative,
                           infinite && !negative,
                           infinite && negative,
                           subnormal,
                           negative && !nan && !infinite && !zero && !subnormal,
                           nan && !quiet};
    for (int c = 0; c < 8; ++c)
      if (bit(static_cast<std::uint64_t>(classes), c) && is_of[c]) return true;
    return false;
  });
}
inline __mmask16 test_epi32_mask(__m512i a, __m512i b) {
  return mask_where([x = I32(a), y = I32(b)](int i) { return (x[i] & y[i]) != 0; });
}
inline __m512i ternarylogic_epi32(__m512i a, __m512i b, __m512i c, int table) {
  return each<I32>([&, x = I32(a), y = I32(b), z = I32(c)](int i) {
    std::uint32_t result = 0;
    for (int k = 0; k < 32; ++k) {
      const int index = bit(x[i], k) << 2 | bit(y[i], k) << 1 | static_cast<int>(bit(z[i], k));
      result |= static_cast<std::uint32_t>(bit(static_cast<std::uint64_t>(table), index)) << k;
    }
    return result;
  });
}

}  // namespace precast::testing::avx512
