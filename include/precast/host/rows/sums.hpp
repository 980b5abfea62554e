// Sums of values, in one order on every machine: in f32, and in dtypes narrower than f32.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <precast/dtype/dtype.hpp>
#include <precast/dtype/exact_arithmetic.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/vector_register.hpp>
#include <precast/problem/narrow_steps.hpp>

namespace precast::host {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// The number of lanes in which a sum accumulates its terms.
inline constexpr std::int64_t sum_lanes = 32;

/// The pairwise sum of the lanes of a register, four or eight.
template <int Lanes, class Register>
[[gnu::always_inline]] inline f32 sum_of_register(const Register& lanes) {
  using Half = typename VectorOf<f32, Lanes / 2>::type;
  Half sums, others;
  std::memcpy(&sums, &lanes, sizeof sums);
  std::memcpy(&others, reinterpret_cast<const char*>(&lanes) + sizeof sums, sizeof others);
  sums += others;
  if constexpr (Lanes == 4)
    return sums[0] + sums[1];
  else
    return sum_of_register<Lanes / 2>(sums);
}

/// The lanes of a sum. In registers of eight at most: a compiler may write the sums with these even where
/// it has wider ones, and a wide load of two narrower stores stalls (no store forwarding).
struct SumLanes {
  static constexpr int in_register = std::min(8, register_bytes / int{sizeof(f32)});
  using Register = VectorOf<f32, in_register>::type;
  Register registers[sum_lanes / in_register];

  /// Loads from memory register by register: GCC copies larger objects in other pieces.
  [[gnu::always_inline]] explicit SumLanes(const f32* values) {
    for (int i = 0; i < sum_lanes / in_register; ++i) {
      Register some;
      std::memcpy(&some, values + i * in_register, sizeof some);
      registers[i] = some;
    }
  }

  /// Adds lanes l and l + 16, then those 8 apart, and so on.
  [[gnu::always_inline]] f32 sum_by_halves() {
    for (int half = sum_lanes / in_register / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) registers[i] += registers[i + half];
    return sum_of_register<in_register>(registers[0]);
  }
};

/// The sum of `term(i)` for i in [first, first + count), pairwise over blocks.
template <class Term>
[[gnu::noinline]] f32 sum_of_blocks(std::int64_t first, std::int64_t count, Term&& term) {
  constexpr std::int64_t lanes = sum_lanes, block = 2048;
  if (count > block) {
    const std::int64_t left = ceil_divide(count / 2, block) * block;
    return sum_of_blocks(first, left, term) + sum_of_blocks(first + left, count - left, term);
  }
  f32 sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += term(first + i + lane);
  for (std::int64_t lane = 0; i + lane < count; ++lane) sums[lane] += term(first + i + lane);
  return SumLanes(sums).sum_by_halves();
}

/// The same for fewer terms than lanes. Lanes without a term are skipped: they would add +0 to a sum that
/// is never -0.
template <class Term>
[[gnu::noinline]] f32 sum_of_few(std::int64_t count, Term&& term) {
  f32 sums[sum_lanes];
  sums[0] = 0;
  for (std::int64_t lane = 0; lane < count; ++lane) sums[lane] = 0.0f + term(lane);
  for (std::int64_t half = sum_lanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane + half < count; ++lane) sums[lane] += sums[lane + half];
    count = std::min(count, half);
  }
  return sums[0];
}

}  // namespace detail

/// The sum of `term(i)` for i in [0, count), in one order on every machine.
template <class Term>
f32 sum_of(std::int64_t count, Term&& term) {
  return count < detail::sum_lanes ? detail::sum_of_few(count, term) : detail::sum_of_blocks(0, count, term);
}

/// The same for values behind which sum_lanes more may be read.
[[gnu::noinline]] inline f32 sum_of_padded(const f32* values, std::int64_t count) {
  using SumLanes = detail::SumLanes;
  using Integers = detail::VectorOf<std::int32_t, SumLanes::in_register>::type;
  if (count >= detail::sum_lanes) return sum_of(count, [values](std::int64_t i) { return values[i]; });
  SumLanes lanes(values);
  static constexpr std::int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  Integers number;
  std::memcpy(&number, numbers, sizeof number);
  for (SumLanes::Register& some : lanes.registers) {
    some = 0.0f + reinterpret_cast<SumLanes::Register>(reinterpret_cast<Integers>(some) &
                                                       (number < static_cast<std::int32_t>(count)));
    number += SumLanes::in_register;
  }
  return lanes.sum_by_halves();
}

namespace detail {

/// The sum of `term(i)` for i in [0, count) in Types::accumulate.
template <class Types, class Term>
[[gnu::noinline]] f32 narrow_sum(std::int64_t count, Term&& term) {
  std::array<f32, narrow_partial_sums> sums{};
  for (std::int64_t i = 0; i < count; ++i) {
    f32& sum = sums[static_cast<std::size_t>(i % narrow_partial_sums)];
    sum = narrow_add<Types>(sum, term(i));
  }
  f32 total = 0;
  for (const f32 sum : sums) total = narrow_add<Types>(total, sum);
  return total;
}

}  // namespace detail

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::host
