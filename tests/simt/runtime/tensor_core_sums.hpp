// How tensor cores sum.
//
// Sums follow what Fasi, Higham, Mikaitis and Pranesh measured (Numerical behavior of NVIDIA tensor cores,
// PeerJ Computer Science 7, 2021): products are exact; a group of them and the sum so far are shifted to the
// largest exponent among them and cut off there, added exactly, and cut off to f32, all towards zero. Their
// A100 takes 8 products of 16-bit operands at a time, 4 of tf32, and keeps one more bit than f32's 24; other
// devices differ in these numbers, so that a kernel's bits are not the emulator's, and its error is of the
// same size.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>

namespace simt::runtime {

/// The values of a word, as doubles.
template <class T>
void unpack(std::uint32_t word, double* values) {
  if constexpr (std::is_same_v<T, precast::tf32>) {
    values[0] = std::bit_cast<float>(word & 0xffffe000u);  // the device reads 19 bits
  } else {
    constexpr int per_word = 4 / static_cast<int>(sizeof(T));
    for (int i = 0; i < per_word; ++i)
      values[i] = precast::convert_value<precast::f32>(
          T{static_cast<decltype(T::bits)>(word >> (i * 32 / per_word))});
  }
}

inline constexpr int exponent_bias = 1023;
inline int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff); }
inline double power_of_two(int biased) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(biased) << 52);
}

/// An f32 towards zero; infinity beyond its range, of which the paper says nothing.
inline float truncate(double x) {
  const auto rounded = static_cast<float>(x);
  if (std::abs(x) >= 0x1p128) return std::copysign(std::numeric_limits<float>::infinity(), rounded);
  if (std::abs(static_cast<double>(rounded)) <= std::abs(x)) return rounded;
  return std::nextafterf(rounded, 0.0f);
}

/// sum + the products of a[i] b[i], i < N, as one group.
template <int N>
float add_group(float sum, const double* a, const double* b) {
  double terms[N + 1];
  for (int i = 0; i < N; ++i) terms[i] = a[i] * b[i];  // exact: at most 22 bits
  terms[N] = sum;
  int largest = 0;
  for (const double term : terms) largest = std::max(largest, exponent_of(term));
  if (largest == 0x7ff) {  // infinities and NaN propagate as in any sum
    double plain = 0;
    for (const double term : terms) plain += term;
    return static_cast<float>(plain);
  }
  if (largest == 0) return 0.0f;
  constexpr int kept_bits = 24;  // behind the leading one: f32's 23 and one more
  const double scale = power_of_two(exponent_bias + exponent_bias + kept_bits - largest);
  std::int64_t total = 0;
  for (const double term : terms) total += static_cast<std::int64_t>(term * scale);
  return truncate(static_cast<double>(total) * power_of_two(largest - kept_bits));
}

}  // namespace simt::runtime
