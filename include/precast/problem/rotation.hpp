// Rotation: which values of a head a rotary embedding rotates as a pair, and in which direction.
#pragma once

#include <cstdint>

#include <precast/dtype/host_device.hpp>

namespace precast {

/// How the values of a head are paired.
enum class RotaryPairs : std::uint8_t {
  neighbours,  ///< 2i and 2i + 1: Su et al. 2021, FLUX
  halves,      ///< i and i + D / 2: Llama and GPT-NeoX as transformers has them
};

struct Rotation {
  RotaryPairs pairs = RotaryPairs::neighbours;
  bool inverse = false;  ///< rotates by the negative angle, as the backward pass does

  /// The index of the first value of a pair, in its head.
  PRECAST_HOST_DEVICE std::int64_t first(std::int64_t pair) const {
    return pairs == RotaryPairs::halves ? pair : 2 * pair;
  }
  /// The distance from the first value of a pair to the second, in a head of `width` values.
  PRECAST_HOST_DEVICE std::int64_t apart(std::int64_t width) const {
    return pairs == RotaryPairs::halves ? width / 2 : 1;
  }
};

}  // namespace precast
