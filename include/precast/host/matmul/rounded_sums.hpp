// Products whose sums are kept in a format narrower than f32: every addition rounds to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/exact_arithmetic.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/byte_lanes.hpp>
#include <precast/host/simd/rounded_lanes.hpp>

namespace precast::host {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// Whether any lane is not 0.
[[gnu::always_inline]] inline bool any_lane(const WordsInRegister& lanes) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(reinterpret_cast<__m512i>(lanes), reinterpret_cast<__m512i>(lanes)) != 0;
#elif defined(__AVX2__)
  return _mm256_testz_si256(reinterpret_cast<__m256i>(lanes), reinterpret_cast<__m256i>(lanes)) == 0;
#else
  std::uint64_t words[sizeof lanes / sizeof(std::uint64_t)], any = 0;
  std::memcpy(words, &lanes, sizeof lanes);
  for (const std::uint64_t word : words) any |= word;
  return any != 0;
#endif
}

/// add_rounded for each lane of a register, with the same bits.
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
  const auto odd = reinterpret_cast<FloatsInRegister>(code + (step & inexact & ((code & 1) - 1)));
  sums = with_single_nan<T>(rounded_register<T>(odd));
}

/// The same by one conversion, which is right unless a sum that was rounded before lies midway between two
/// values of T: sets `doubtful` in such lanes. A NaN has T's bits but for its payload.
template <ScalarDtype T>
  requires vectors_round_to<T>
[[gnu::always_inline]] inline FloatsInRegister rounded_once(const FloatsInRegister& nearest,
                                                            WordsInRegister& doubtful) {
  using Words = WordsInRegister;
  const auto code = reinterpret_cast<Words>(nearest);
  const FloatsInRegister rounded = rounded_register<T>(nearest);
  if constexpr (std::is_same_v<T, f16>) {
    // Subnormal values of f16 are 2^-24 apart.
    const auto away = reinterpret_cast<Words>(nearest - rounded) & 0x7fffffffu;
    doubtful |= reinterpret_cast<Words>(((code & 0x1fffu) == 0x1000u) | (away == 0x33000000u));
  } else {
    doubtful |= reinterpret_cast<Words>((code & 0xffffu) == 0x8000u);
  }
  return rounded;
}

/// Adds x times a register's weights to each of `count` registers of sums. Not inlined: the loop that
/// rarely calls it would otherwise keep its sums in memory.
template <ScalarDtype T>
  requires vectors_round_to<T>
[[gnu::noinline]] void add_rounded_products(f32 x, const f32* weights, FloatsInRegister* sums,
                                            std::size_t count) {
  for (std::size_t v = 0; v < count; ++v) {
    FloatsInRegister values;
    std::memcpy(&values, weights + v * values_in_register, sizeof values);
    add_rounded_lanes<T>(sums[v], x * values);
  }
}

/// sums[f] of rounded_sums for as many features as Vectors hold: they stay in registers, several, since an
/// addition waits for the one before it.
template <ScalarDtype T, std::size_t... Vectors>
  requires vectors_round_to<T>
void rounded_sums_of_registers(const f32* x, const f32* weights, std::int64_t columns, std::int64_t features,
                               f32* sums, std::index_sequence<Vectors...>) {
  const auto load = [](const f32* values) {
    FloatsInRegister loaded;
    std::memcpy(&loaded, values, sizeof loaded);
    return loaded;
  };
  FloatsInRegister lanes[] = {(static_cast<void>(Vectors), FloatsInRegister{})...};
  for (std::int64_t k = 0; k < columns; ++k, weights += features) {
    WordsInRegister doubtful = {};
    const FloatsInRegister rounded[] = {
        rounded_once<T>(lanes[Vectors] + x[k] * load(weights + Vectors * values_in_register), doubtful)...};
    if (any_lane(doubtful)) [[unlikely]] {
      FloatsInRegister in_memory[] = {lanes[Vectors]...};
      add_rounded_products<T>(x[k], weights, in_memory, sizeof...(Vectors));
      ((lanes[Vectors] = in_memory[Vectors]), ...);
    } else {
      ((lanes[Vectors] = rounded[Vectors]), ...);
    }
  }
  ((lanes[Vectors] = with_single_nan<T>(lanes[Vectors])), ...);
  (std::memcpy(sums + Vectors * values_in_register, &lanes[Vectors], sizeof(FloatsInRegister)), ...);
}

}  // namespace detail

/// sums[f] = x . weights[f], added up one by one in order with each sum rounded to Accumulate. x and
/// weights are f32 operands; weights are transposed, [columns, features].
template <ScalarDtype Accumulate>
[[gnu::noinline]] void rounded_sums(const f32* x, const f32* weights, std::int64_t columns,
                                    std::int64_t features, f32* sums) {
  std::int64_t f = 0;
  if constexpr (detail::vectors_round_to<Accumulate>) {
    constexpr std::size_t vectors = 4;
    constexpr auto at_once = static_cast<std::int64_t>(vectors * detail::values_in_register);
    // Weights of no columns may be a null pointer, on which no arithmetic is allowed.
    for (; columns > 0 && f + at_once <= features; f += at_once)
      detail::rounded_sums_of_registers<Accumulate>(x, weights + f, columns, features, sums + f,
                                                    std::make_index_sequence<vectors>());
  }
  std::fill(sums + f, sums + features, 0.0f);
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t i = f; i < features; ++i)
      sums[i] = add_rounded<Accumulate>(sums[i], x[k] * weights[k * features + i]);
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::host
