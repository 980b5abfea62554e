// Rotation: which values of a head a rotary embedding turns together, and which way.
#pragma once

#include <cstdint>

#include <precast/dtype/host_device.hpp>

namespace precast {

/// Which values of a head are a pair.
enum class RotaryPairs : std::uint8_t {
  neighbours,  ///< 2i and 2i + 1: Su et al. 2021, FLUX
  halves,      ///< i and i + D / 2: Llama and GPT-NeoX as transformers has them
};

struct Rotation {
  RotaryPairs pairs = RotaryPairs::neighbours;
  bool inverse = false;  ///< by the negative angle, which carries a gradient back

  /// The first of pair i of a head of so many values.
  PRECAST_HOST_DEVICE std::int64_t first(std::int64_t pair) const {
    return pairs == RotaryPairs::halves ? pair : 2 * pair;
  }
  /// How far behind it the second is.
  PRECAST_HOST_DEVICE std::int64_t apart(std::int64_t width) const {
    return pairs == RotaryPairs::halves ? width / 2 : 1;
  }
};

}  // namespace precast
