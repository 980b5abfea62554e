// Sizes rounded up to what is taken at once.
#pragma once

#include <cstdint>

namespace precast {

/// The least multiple of `step` that is not below `value`.
constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace precast
