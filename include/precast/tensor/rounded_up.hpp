// Sizes rounded up to a multiple of a step.
#pragma once

#include <cstdint>

#include <precast/dtype/host_device.hpp>

namespace precast {

/// The least multiple of `step` that is not below `value`.
constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return ceil_divide(value, step) * step;
}

}  // namespace precast
