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

/// Whether vectors of this CPU round to T.
#if defined(__AVX512F__)
template <ScalarDtype T>
inline constexpr bool vectors_round_to = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
#else
template <ScalarDtype T>
inline constexpr bool vectors_round_to = false;
#endif

/// add_rounded of sixteen lanes, with its bits.
template <ScalarDtype T>
  requires vectors_round_to<T>
[[gnu::always_inline]] inline void add_rounded_lanes([[maybe_unused]] Floats16& sums,
                                                     [[maybe_unused]] const Floats16& addends) {
#if defined(__AVX512F__)
  const Floats16 nearest = sums + addends, of_addend = nearest - sums,
                 rest = (sums - (nearest - of_addend)) + (addends - of_addend);
  const auto code = reinterpret_cast<Words16>(nearest);
  const auto inexact = reinterpret_cast<Words16>((rest != 0) & ((code & 0x7fffffffu) < 0x7f800000u));
  const auto away = reinterpret_cast<Words16>((rest > 0) == (nearest > 0));
  // One further from zero, or -1 nearer, where the last bit is even.
  const Words16 step = (away & 2) - 1;
  const Words16 odd = code + (step & inexact & ((code & 1) - 1));
  // What the conversions of single values make of a NaN.
  Words16 rounded, nan;
  if constexpr (std::is_same_v<T, f16>) {
    const __m256i halves =
        _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(odd), _MM_FROUND_TO_NEAREST_INT);
    rounded = reinterpret_cast<Words16>(_mm512_maskz_cvtph_ps(0xffff, halves));
    nan = (code & 0x80000000u) | 0x7fc00000u;
  } else {
    rounded = (odd + 0x7fffu + ((odd >> 16) & 1)) & 0xffff0000u;
    nan = (code | 0x400000u) & 0xffff0000u;
  }
  const auto is_nan = reinterpret_cast<Words16>(nearest != nearest);
  sums = reinterpret_cast<Floats16>((is_nan & nan) | (~is_nan & rounded));
#endif
}

}  // namespace detail

/// sums[f] = x . weights[f], added up one by one in order with each sum rounded to Accumulate. x and weights
/// are f32 operands; weights lie transposed, [columns, features].
template <ScalarDtype Accumulate>
void rounded_sums(const f32* x, const f32* weights, std::int64_t columns, std::int64_t features, f32* sums) {
  std::int64_t f = 0;
  if constexpr (detail::vectors_round_to<Accumulate>) {
    // Sums stay in registers, four vectors of them, since an addition waits for the one before it.
    constexpr int vectors = 4, together = 16 * vectors;
    for (; f + together <= features; f += together) {
      detail::Floats16 lanes[vectors] = {};
      for (std::int64_t k = 0; k < columns; ++k) {
        detail::Floats16 values[vectors];
        std::memcpy(values, weights + k * features + f, sizeof values);
        for (int v = 0; v < vectors; ++v) detail::add_rounded_lanes<Accumulate>(lanes[v], x[k] * values[v]);
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
