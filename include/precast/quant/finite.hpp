// Rejects values that no format under a scale can hold, and names their place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/quant/largest_magnitude.hpp>

namespace precast::quant::detail {

/// Throws InputError where a value is infinite or NaN. `first` is the index of values[0] among all that are
/// encoded, `format` the name of the format.
inline void refuse_not_finite(std::span<const f32> values, std::size_t first, std::string_view format) {
  const auto outside = [](f32 value) {
    return (bit_cast<std::uint32_t>(value) & 0x7fffffffu) >= 0x7f800000u;
  };
  if (!outside(quant::largest_magnitude(values))) return;
  const auto bad = static_cast<std::size_t>(std::ranges::find_if(values, outside) - values.begin());
  throw InputError("encode: value " + std::to_string(first + bad) + " is infinite or NaN, which " +
                   std::string(format) + " cannot hold: keep these values in a scalar dtype");
}

}  // namespace precast::quant::detail
