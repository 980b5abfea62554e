// f32 in vector registers, rounded to a narrower format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/byte_lanes.hpp>
#include <precast/host/simd/lanes.hpp>

namespace precast::host {

namespace detail {

using FloatsInRegister = VectorOf<f32>::type;
using WordsInRegister = VectorOf<std::uint32_t>::type;
inline constexpr std::size_t values_in_register = register_bytes / sizeof(f32);

/// Whether this CPU rounds vectors to T.
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

/// Numbers rounded to T. A NaN has the bits of the scalar conversion except for its payload.
template <ScalarDtype T>
  requires vectors_round_to<T>
[[gnu::always_inline]] inline FloatsInRegister rounded_register(const FloatsInRegister& numbers) {
  using Words = WordsInRegister;
  const auto code = reinterpret_cast<Words>(numbers);
  if constexpr (std::is_same_v<T, f16>) {
    return reinterpret_cast<FloatsInRegister>(rounded_to_half(code));
  } else {
    const auto is_nan = reinterpret_cast<Words>((code & 0x7fffffffu) > 0x7f800000u);
    return reinterpret_cast<FloatsInRegister>(
        ((code + (~is_nan & (0x7fffu + ((code >> 16) & 1)))) & 0xffff0000u) | (is_nan & 0x400000u));
  }
}

/// Replaces each NaN by what the scalar conversion makes of it.
template <ScalarDtype T>
[[gnu::always_inline]] inline FloatsInRegister with_single_nan(const FloatsInRegister& numbers) {
  using Words = WordsInRegister;
  const auto code = reinterpret_cast<Words>(numbers);
  const Words nan =
      std::is_same_v<T, f16> ? (code & 0x80000000u) | 0x7fc00000u : (code | 0x400000u) & 0xffff0000u;
  const auto is_nan = reinterpret_cast<Words>((code & 0x7fffffffu) > 0x7f800000u);
  return reinterpret_cast<FloatsInRegister>((is_nan & nan) | (~is_nan & code));
}

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
inline constexpr bool lanes_are_a_register = true;
#else
inline constexpr bool lanes_are_a_register = false;
#endif

/// The same register as the other type, where Lanes is one register.
[[gnu::always_inline]] inline FloatsInRegister as_register(const Lanes& lanes) {
  FloatsInRegister result;
  std::memcpy(&result, &lanes, sizeof result);
  return result;
}
[[gnu::always_inline]] inline Lanes as_lanes(const FloatsInRegister& numbers) {
  Lanes result;
  std::memcpy(&result, &numbers, sizeof numbers);
  return result;
}

/// Lanes rounded to T; unchanged for f32.
template <ScalarDtype T>
[[gnu::always_inline]] inline Lanes rounded_lanes(Lanes lanes) {
  if constexpr (std::is_same_v<T, f32>) {
    return lanes;
  } else if constexpr (lanes_are_a_register && vectors_round_to<T>) {
    return as_lanes(rounded_register<T>(as_register(lanes)));
  } else {
    f32 values[Lanes::width];
    lanes.store(values);
    for (f32& value : values) value = convert_value<f32, false>(convert_value<T, false>(value));
    return Lanes::load(values);
  }
}

/// with_single_nan for the result of rounded_lanes.
template <ScalarDtype T>
[[gnu::always_inline]] inline Lanes lanes_with_single_nan(Lanes lanes) {
  if constexpr (lanes_are_a_register && vectors_round_to<T>) {
    return as_lanes(with_single_nan<T>(as_register(lanes)));
  } else {
    return lanes;
  }
}

}  // namespace detail

}  // namespace precast::host
