// Products whose sums are kept in a format narrower than f32: every addition rounds to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/byte_lanes.hpp>

namespace precast::host {

namespace detail {

using FloatsInRegister = VectorOf<f32>::type;
using WordsInRegister = VectorOf<std::uint32_t>::type;

/// Whether vectors of this CPU round to T.
template <ScalarDtype T>
inline constexpr bool vectors_round_to = std::is_same_v<T, bf16>;
#if defined(__AVX2__) && defined(__F16C__)
template <>
inline constexpr bool vectors_round_to<f16> = true;
#endif

/// Numbers rounded to f16.
[[gnu::always_inline]] inline WordsInRegister rounded_to_half(const WordsInRegister& numbers) {
#if defined(__AVX512F__)
  const __m256i halves =
      _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(numbers), _MM_FROUND_TO_NEAREST_INT);
  return reinterpret_cast<WordsInRegister>(_mm512_maskz_cvtph_ps(0xffff, halves));
#elif defined(__AVX2__) && defined(__F16C__)
  const __m128i halves = _mm256_cvtps_ph(reinterpret_cast<__m256>(numbers), _MM_FROUND_TO_NEAREST_INT);
  return reinterpret_cast<WordsInRegister>(_mm256_cvtph_ps(halves));
#else
  return numbers;  // vectors_round_to<f16> is false
#endif
}

/// add_rounded of the lanes of a register, with its bits.
template <ScalarDtype T>
  requires vectors_round_to<T>
[[gnu::always_inline]] inline void add_rounded_lanes(FloatsInRegister& sums,
                                                     const FloatsInRegister& addends) {
  using Words = WordsInRegister;
  const FloatsInRegister nearest = sums + addends, of_addend = nearest - sums,
                         rest = (sums - (nearest - of_addend)) + (addends - of_addend);
  const auto code = reinterpret_cast<Words>(nearest);
  const auto inexact = reinterpret_cast<Words>((rest != 0) & ((code & 0x7fffffffu) < 0x7f800000u));
  const auto away = reinterpret_cast<Words>((rest > 0) == (nearest > 0));
  // One further from zero, or -1 nearer, where the last bit is even.
  const Words step = (away & 2) - 1;
  const Words odd = code + (step & inexact & ((code & 1) - 1));
  // What the conversions of single values make of a NaN.
  Words rounded, nan;
  if constexpr (std::is_same_v<T, f16>) {
    rounded = rounded_to_half(odd);
    nan = (code & 0x80000000u) | 0x7fc00000u;
  } else {
    rounded = (odd + 0x7fffu + ((odd >> 16) & 1)) & 0xffff0000u;
    nan = (code | 0x400000u) & 0xffff0000u;
  }
  const auto is_nan = reinterpret_cast<Words>((code & 0x7fffffffu) > 0x7f800000u);
  sums = reinterpret_cast<FloatsInRegister>((is_nan & nan) | (~is_nan & rounded));
}

}  // namespace detail

/// sums[f] = x . weights[f], added up one by one in order with each sum rounded to Accumulate. x and weights
/// are f32 operands; weights lie transposed, [columns, features].
template <ScalarDtype Accumulate>
void rounded_sums(const f32* x, const f32* weights, std::int64_t columns, std::int64_t features, f32* sums) {
  std::int64_t f = 0;
  if constexpr (detail::vectors_round_to<Accumulate>) {
    // Sums stay in registers, four vectors of them, since an addition waits for the one before it.
    using Floats = detail::FloatsInRegister;
    constexpr int vectors = 4, in_vector = detail::register_bytes / sizeof(f32);
    for (; f + vectors * in_vector <= features; f += vectors * in_vector) {
      Floats lanes[vectors] = {};
      for (std::int64_t k = 0; k < columns; ++k)
        for (int v = 0; v < vectors; ++v) {
          Floats values;
          std::memcpy(&values, weights + k * features + f + v * in_vector, sizeof values);
          detail::add_rounded_lanes<Accumulate>(lanes[v], x[k] * values);
        }
      std::memcpy(sums + f, lanes, sizeof lanes);
    }
  }
  std::fill(sums + f, sums + features, 0.0f);
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t i = f; i < features; ++i)
      sums[i] = add_rounded<Accumulate>(sums[i], x[k] * weights[k * features + i]);
}

}  // namespace precast::host
