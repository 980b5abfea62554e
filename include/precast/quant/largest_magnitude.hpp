// The largest magnitude of values, vectorised: it gives their scale, and shows whether all are numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

/// The largest magnitude of the values, 0 for none; inf, and NaN above it, are larger than all numbers.
inline f32 largest_magnitude(std::span<const f32> values) {
  // Without their signs, words are in the order of the magnitudes that they stand for, NaN above infinity.
  using Words = detail::Integers<detail::native_lanes>;
  constexpr std::size_t lanes = detail::native_lanes;
  const std::size_t whole = values.size() / lanes * lanes;
  Words most{};
  for (std::size_t i = 0; i < whole; i += lanes)
    most = detail::larger(most, detail::load<Words>(values.data() + i) & 0x7fffffff);
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < lanes; ++i) largest = std::max(largest, most[i]);
  for (const f32 value : values.subspan(whole))
    largest = std::max(largest, std::bit_cast<std::int32_t>(value) & 0x7fffffff);
  return std::bit_cast<f32>(largest);
}

}  // namespace precast::quant
