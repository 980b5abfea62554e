// q8_0 q5_1 q5_0 q4_1 q4_0: 32 integers and one scale, two of them with a least value. ggml's layouts
// (docs/quantisation.md).
#pragma once

#include <cstdint>
#include <string_view>

#include <precast/dtype/blocks/in_pieces.hpp>

namespace precast {

/// 32 values: scale times an integer of 8 bits each.
struct q8_0 {
  std::uint16_t scale;  ///< the code of an f16
  std::int8_t integers[32];
};

/// 32 values: scale times (an integer of 5 bits - 16).
struct q5_0 {
  std::uint16_t scale;
  std::uint8_t high[4];  ///< bit i % 8 of byte i / 8 is the fifth bit of value i
  std::uint8_t low[16];  ///< four bits of value i, and above them those of value i + 16
};

/// 32 values: least + scale times an integer of 5 bits.
struct q5_1 {
  std::uint16_t scale;
  std::uint16_t least;  ///< the code of an f16
  std::uint8_t high[4];
  std::uint8_t low[16];
};

/// 32 values: scale times (an integer of 4 bits - 8).
struct q4_0 {
  std::uint16_t scale;
  std::uint8_t low[16];
};

/// 32 values: least + scale times an integer of 4 bits.
struct q4_1 {
  std::uint16_t scale;
  std::uint16_t least;
  std::uint8_t low[16];
};

namespace detail {

/// Five bits of value i + 16 * half of a block with `high` and `low`.
template <class Block>
PRECAST_HOST_DEVICE int five_bits(const Block& block, int half, int i) {
  const int value = i + 16 * half;
  return ((block.low[i] >> (4 * half)) & 15) | ((block.high[value / 8] >> (value % 8)) & 1) << 4;
}

/// The low four bits of the same value.
template <class Block>
PRECAST_HOST_DEVICE int four_bits(const Block& block, int half, int i) {
  return (block.low[i] >> (4 * half)) & 15;
}

}  // namespace detail

template <>
struct dtype_traits<q8_0> : detail::decoded_in_pieces<q8_0, 32, 34, 32> {
  static constexpr std::string_view name = "q8_0";
  PRECAST_HOST_DEVICE static void decode_piece(const q8_0& block, int, int first, int count, f32* values) {
    const f32 scale = detail::half_value(block.scale);
    for (int i = 0; i < count; ++i) values[i] = detail::byte_value(block.integers[first + i]) * scale;
  }
};

template <>
struct dtype_traits<q5_0> : detail::decoded_in_pieces<q5_0, 32, 22, 16> {
  static constexpr std::string_view name = "q5_0";
  PRECAST_HOST_DEVICE static void decode_piece(const q5_0& block, int half, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_value(block.scale);
    for (int i = 0; i < count; ++i)
      values[i] = static_cast<f32>(detail::five_bits(block, half, first + i) - 16) * scale;
  }
};

template <>
struct dtype_traits<q5_1> : detail::decoded_in_pieces<q5_1, 32, 24, 16> {
  static constexpr std::string_view name = "q5_1";
  PRECAST_HOST_DEVICE static void decode_piece(const q5_1& block, int half, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_value(block.scale), least = detail::half_value(block.least);
    for (int i = 0; i < count; ++i)
      values[i] = static_cast<f32>(detail::five_bits(block, half, first + i)) * scale + least;
  }
};

template <>
struct dtype_traits<q4_0> : detail::decoded_in_pieces<q4_0, 32, 18, 16> {
  static constexpr std::string_view name = "q4_0";
  PRECAST_HOST_DEVICE static void decode_piece(const q4_0& block, int half, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_value(block.scale);
    for (int i = 0; i < count; ++i)
      values[i] = static_cast<f32>(detail::four_bits(block, half, first + i) - 8) * scale;
  }
};

template <>
struct dtype_traits<q4_1> : detail::decoded_in_pieces<q4_1, 32, 20, 16> {
  static constexpr std::string_view name = "q4_1";
  PRECAST_HOST_DEVICE static void decode_piece(const q4_1& block, int half, int first, int count,
                                               f32* values) {
    const f32 scale = detail::half_value(block.scale), least = detail::half_value(block.least);
    for (int i = 0; i < count; ++i)
      values[i] = static_cast<f32>(detail::four_bits(block, half, first + i)) * scale + least;
  }
};

}  // namespace precast
