// iq4_nl iq4_xs: codes of 4 bits that stand for 16 integers at growing distances. ggml's layouts
// (docs/quantisation.md).
#pragma once

#include <cstdint>
#include <string_view>

#include <precast/dtype/blocks/in_pieces.hpp>

namespace precast {

/// 32 values: scale times the integer behind a code of 4 bits.
struct iq4_nl {
  std::uint16_t scale;  ///< the code of an f16
  std::uint8_t low[16];
};

/// 8 groups of 32 values: scale times (the group's 6 bits - 32) times the integer behind a code of 4 bits.
struct iq4_xs {
  std::uint16_t scale;
  std::uint16_t scales_high;  ///< bits 2g and 2g + 1 are the top ones of group g
  std::uint8_t scales_low[4];
  std::uint8_t low[128];  ///< 16 bytes a group
};

namespace detail {

/// The integer that a code of iq4_nl and iq4_xs stands for.
PRECAST_HOST_DEVICE_CONSTEXPR int iq4_value(int code) {
  constexpr std::int8_t values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
  return values[code];
}

PRECAST_HOST_DEVICE int group_scale(const iq4_xs& block, int group) {
  const int low = (block.scales_low[group / 2] >> (4 * (group % 2))) & 15;
  return (low | ((block.scales_high >> (2 * group)) & 3) << 4) - 32;
}

}  // namespace detail

template <>
struct dtype_traits<iq4_nl> : detail::decoded_in_pieces<iq4_nl, 32, 18, 16> {
  static constexpr std::string_view name = "iq4_nl";
  PRECAST_HOST_DEVICE static void decode_piece(const iq4_nl& block, int half, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_value(block.scale);
    for (int i = 0; i < count; ++i)
      values[i] = scale * static_cast<f32>(detail::iq4_value((block.low[first + i] >> (4 * half)) & 15));
  }
};

template <>
struct dtype_traits<iq4_xs> : detail::decoded_in_pieces<iq4_xs, 256, 136, 16> {
  static constexpr std::string_view name = "iq4_xs";
  PRECAST_HOST_DEVICE static void decode_piece(const iq4_xs& block, int piece, int first, int count,
                                               f32* values) {
    const int group = piece / 2, half = piece % 2;
    const f32 scale = detail::half_value(block.scale) * static_cast<f32>(detail::group_scale(block, group));
    const std::uint8_t* low = block.low + 16 * group + first;
    for (int i = 0; i < count; ++i)
      values[i] = scale * static_cast<f32>(detail::iq4_value((low[i] >> (4 * half)) & 15));
  }
};

}  // namespace precast
