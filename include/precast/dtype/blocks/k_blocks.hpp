// q6_k q5_k q4_k q3_k q2_k: 256 values in groups whose scales (and least values) are integers themselves,
// times an f16 of the block's. ggml's layouts (docs/quantisation.md).
#pragma once

#include <cstdint>
#include <string_view>

#include <precast/dtype/blocks/in_pieces.hpp>

namespace precast {

/// 16 groups of 16 values: scale times the group's integer times (an integer of 6 bits - 32).
struct q6_k {
  std::uint8_t low[128];  ///< four bits of each value
  std::uint8_t high[64];  ///< two bits of each
  std::int8_t scales[16];
  std::uint16_t scale;  ///< the code of an f16
};

/// 8 groups of 32 values: scale times the group's integer times an integer of 5 bits, less `least` times the
/// group's other integer.
struct q5_k {
  std::uint16_t scale;
  std::uint16_t least;      ///< the code of an f16
  std::uint8_t scales[12];  ///< two integers of 6 bits a group: see detail::six_bits
  std::uint8_t high[32];    ///< bit g of byte i is the fifth bit of value i of group g
  std::uint8_t low[128];
};

/// The same with integers of 4 bits.
struct q4_k {
  std::uint16_t scale;
  std::uint16_t least;
  std::uint8_t scales[12];
  std::uint8_t low[128];
};

/// 16 groups of 16 values: scale times (the group's 6 bits - 32) times (an integer of 3 bits - 4).
struct q3_k {
  std::uint8_t high[32];  ///< bit v / 32 of byte v % 32 is the third bit of value v
  std::uint8_t low[64];   ///< two bits of each
  std::uint8_t scales[12];
  std::uint16_t scale;
};

/// 16 groups of 16 values: scale times the group's 4 bits times an integer of 2 bits, less `least` times the
/// group's other 4 bits.
struct q2_k {
  std::uint8_t scales[16];  ///< the scale's four bits, and above them the least value's
  std::uint8_t low[64];
  std::uint16_t scale;
  std::uint16_t least;
};

namespace detail {

/// A group's two integers of q4_k and q5_k.
struct ScaleAndLeast {
  int scale, least;
};

/// The 6-bit integers of a group, of eight in 12 bytes: groups 0 to 3 in bytes 0 to 3 (scales) and 4 to 7
/// (least values), and above them the top two bits of groups 4 to 7, whose low bits are in bytes 8 to 11.
PRECAST_HOST_DEVICE ScaleAndLeast six_bits(const std::uint8_t* bytes, int group) {
  if (group < 4) return {bytes[group] & 63, bytes[group + 4] & 63};
  const int low = bytes[group + 4];
  return {(low & 15) | (bytes[group - 4] >> 6) << 4, (low >> 4) | (bytes[group] >> 6) << 4};
}

/// The 6-bit scale of a group of q3_k, of 16 in 12 bytes: four bits in bytes 0 to 7, of groups 8 to 15
/// above those of 0 to 7; two bits in bytes 8 to 11, of group g in byte 8 + g % 4.
PRECAST_HOST_DEVICE int six_bits_of_16(const std::uint8_t* bytes, int group) {
  const int low = group < 8 ? bytes[group] & 15 : bytes[group - 8] >> 4;
  return low | ((bytes[8 + group % 4] >> (2 * (group / 4))) & 3) << 4;
}

/// Two bits of value i of a group of 16, as q2_k and q3_k store them: half a block takes 32 bytes, each
/// with a value of four groups of 32, one above the other.
PRECAST_HOST_DEVICE int two_bits(const std::uint8_t* low, int group, int i) {
  return (low[32 * (group / 8) + 16 * (group % 2) + i] >> (2 * (group % 8 / 2))) & 3;
}

}  // namespace detail

template <>
struct dtype_traits<q6_k> : detail::decoded_in_pieces<q6_k, 256, 210, 16> {
  static constexpr std::string_view name = "q6_k";
  PRECAST_HOST_DEVICE static void decode_piece(const q6_k& block, int group, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_value(block.scale) * static_cast<f32>(block.scales[group]);
    // Half a block takes 64 bytes of four bits and 32 of two; a quarter of it is 32 values.
    const int half = group / 8, quarter = group % 8 / 2, in_quarter = 16 * (group % 2) + first;
    const std::uint8_t* low = block.low + 64 * half + 32 * (quarter % 2) + in_quarter;
    const std::uint8_t* high = block.high + 32 * half + in_quarter;
    for (int i = 0; i < count; ++i) {
      const int integer = ((low[i] >> (4 * (quarter / 2))) & 15) | ((high[i] >> (2 * quarter)) & 3) << 4;
      values[i] = scale * static_cast<f32>(integer - 32);
    }
  }
};

template <>
struct dtype_traits<q5_k> : detail::decoded_in_pieces<q5_k, 256, 176, 32> {
  static constexpr std::string_view name = "q5_k";
  PRECAST_HOST_DEVICE static void decode_piece(const q5_k& block, int group, int first, int count,
                                               f32* values) {
    const auto integers = detail::six_bits(block.scales, group);
    const f32 scale = detail::half_value(block.scale) * static_cast<f32>(integers.scale);
    const f32 least = detail::half_value(block.least) * static_cast<f32>(integers.least);
    const std::uint8_t* low = block.low + 32 * (group / 2) + first;
    const std::uint8_t* high = block.high + first;
    for (int i = 0; i < count; ++i) {
      const int integer = ((low[i] >> (4 * (group % 2))) & 15) | ((high[i] >> group) & 1) << 4;
      values[i] = scale * static_cast<f32>(integer) - least;
    }
  }
};

template <>
struct dtype_traits<q4_k> : detail::decoded_in_pieces<q4_k, 256, 144, 32> {
  static constexpr std::string_view name = "q4_k";
  PRECAST_HOST_DEVICE static void decode_piece(const q4_k& block, int group, int first, int count,
                                               f32* values) {
    const auto integers = detail::six_bits(block.scales, group);
    const f32 scale = detail::half_value(block.scale) * static_cast<f32>(integers.scale);
    const f32 least = detail::half_value(block.least) * static_cast<f32>(integers.least);
    const std::uint8_t* low = block.low + 32 * (group / 2) + first;
    for (int i = 0; i < count; ++i)
      values[i] = scale * static_cast<f32>((low[i] >> (4 * (group % 2))) & 15) - least;
  }
};

template <>
struct dtype_traits<q3_k> : detail::decoded_in_pieces<q3_k, 256, 110, 16> {
  static constexpr std::string_view name = "q3_k";
  PRECAST_HOST_DEVICE static void decode_piece(const q3_k& block, int group, int first, int count,
                                               f32* values) {
    const f32 scale =
        detail::half_value(block.scale) * static_cast<f32>(detail::six_bits_of_16(block.scales, group) - 32);
    const std::uint8_t* high = block.high + 16 * (group % 2) + first;
    for (int i = 0; i < count; ++i) {
      const int integer = detail::two_bits(block.low, group, first + i) | ((high[i] >> (group / 2)) & 1) << 2;
      values[i] = scale * static_cast<f32>(integer - 4);
    }
  }
};

template <>
struct dtype_traits<q2_k> : detail::decoded_in_pieces<q2_k, 256, 84, 16> {
  static constexpr std::string_view name = "q2_k";
  PRECAST_HOST_DEVICE static void decode_piece(const q2_k& block, int group, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_value(block.scale) * static_cast<f32>(block.scales[group] & 15);
    const f32 least = detail::half_value(block.least) * static_cast<f32>(block.scales[group] >> 4);
    for (int i = 0; i < count; ++i)
      values[i] = scale * static_cast<f32>(detail::two_bits(block.low, group, first + i)) - least;
  }
};

}  // namespace precast
