// Where q6_k q5_k q4_k q3_k q2_k keep the integers of their groups and the codes of their values.
#pragma once

#include <cstdint>

#include <precast/dtype/blocks/k_blocks.hpp>

namespace precast::quant::detail {

/// The facts of a K-quant that its encoders need. A value's code is its integer less `least`, in [0, most].
template <class Block>
struct KFacts;
template <>
struct KFacts<q6_k> {
  static constexpr int groups = 16, least = -32, most = 63;
};
template <>
struct KFacts<q5_k> {
  static constexpr int groups = 8, least = 0, most = 31;
};
template <>
struct KFacts<q4_k> {
  static constexpr int groups = 8, least = 0, most = 15;
};
template <>
struct KFacts<q3_k> {
  static constexpr int groups = 16, least = -4, most = 7;
};
template <>
struct KFacts<q2_k> {
  static constexpr int groups = 16, least = 0, most = 3;
};

/// Writes the six bits of eight groups' scales and least values, in [0, 63]: detail::six_bits' inverse.
template <class Scales>
void put_six_bits(const Scales& scales, const Scales& leasts, std::uint8_t* bytes) {
  for (int g = 0; g < 4; ++g) {
    bytes[g] = static_cast<std::uint8_t>(scales[g] | (scales[g + 4] >> 4) << 6);
    bytes[g + 4] = static_cast<std::uint8_t>(leasts[g] | (leasts[g + 4] >> 4) << 6);
    bytes[g + 8] = static_cast<std::uint8_t>((scales[g + 4] & 15) | (leasts[g + 4] & 15) << 4);
  }
}

/// Writes the six bits of 16 groups of q3_k, in [0, 63]: six_bits_of_16's inverse.
inline void put_six_bits_of_16(const int (&scales)[16], std::uint8_t* bytes) {
  for (int byte = 0; byte < 8; ++byte)
    bytes[byte] = static_cast<std::uint8_t>((scales[byte] & 15) | (scales[byte + 8] & 15) << 4);
  for (int byte = 0; byte < 4; ++byte)
    bytes[8 + byte] = static_cast<std::uint8_t>(scales[byte] >> 4 | (scales[byte + 4] >> 4) << 2 |
                                                (scales[byte + 8] >> 4) << 4 | (scales[byte + 12] >> 4) << 6);
}

/// Four bits of each of 256 codes as q4_k and q5_k store them.
inline void put_four_bits(const std::uint8_t* codes, std::uint8_t* low) {
  for (int pair = 0; pair < 4; ++pair)
    for (int i = 0; i < 32; ++i) {
      const std::uint8_t* const from = codes + 64 * pair + i;
      low[32 * pair + i] = static_cast<std::uint8_t>((from[0] & 15) | (from[32] & 15) << 4);
    }
}

/// Two bits of each of 256 codes as q2_k and q3_k store them.
inline void put_two_bits(const std::uint8_t* codes, std::uint8_t* low) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 32; ++i) {
      const std::uint8_t* const from = codes + 128 * half + i;
      low[32 * half + i] = static_cast<std::uint8_t>((from[0] & 3) | (from[32] & 3) << 2 |
                                                     (from[64] & 3) << 4 | (from[96] & 3) << 6);
    }
}

/// Bit `bit` of 256 codes, that of code v as bit v / 32 of byte v % 32.
inline void put_bit(const std::uint8_t* codes, int bit, std::uint8_t* high) {
  for (int i = 0; i < 32; ++i) {
    int byte = 0;
    for (int g = 0; g < 8; ++g) byte |= (codes[32 * g + i] >> bit & 1) << g;
    high[i] = static_cast<std::uint8_t>(byte);
  }
}

/// Writes the codes of 256 values.
inline void put_codes(const std::uint8_t* codes, q6_k& block) {
  for (int half = 0; half < 2; ++half)
    for (int i = 0; i < 32; ++i) {
      const std::uint8_t* const from = codes + 128 * half + i;
      block.low[64 * half + i] = static_cast<std::uint8_t>((from[0] & 15) | (from[64] & 15) << 4);
      block.low[64 * half + 32 + i] = static_cast<std::uint8_t>((from[32] & 15) | (from[96] & 15) << 4);
      block.high[32 * half + i] = static_cast<std::uint8_t>(from[0] >> 4 | (from[32] >> 4) << 2 |
                                                            (from[64] >> 4) << 4 | (from[96] >> 4) << 6);
    }
}
inline void put_codes(const std::uint8_t* codes, q5_k& block) {
  put_four_bits(codes, block.low);
  put_bit(codes, 4, block.high);
}
inline void put_codes(const std::uint8_t* codes, q4_k& block) { put_four_bits(codes, block.low); }
inline void put_codes(const std::uint8_t* codes, q3_k& block) {
  put_two_bits(codes, block.low);
  put_bit(codes, 2, block.high);
}
inline void put_codes(const std::uint8_t* codes, q2_k& block) { put_two_bits(codes, block.low); }

/// The factor on a group's integers, and the number subtracted from them, as the block's bytes give them.
struct GroupLine {
  f32 scale, least;
};
inline GroupLine line_of(const q6_k& block, int g) {
  return {precast::detail::half_value(block.scale) * static_cast<f32>(block.scales[g]), 0};
}
template <class Block>
  requires(KFacts<Block>::groups == 8)
GroupLine line_of(const Block& block, int g) {
  const auto integers = precast::detail::six_bits(block.scales, g);
  return {precast::detail::half_value(block.scale) * static_cast<f32>(integers.scale),
          precast::detail::half_value(block.least) * static_cast<f32>(integers.least)};
}
inline GroupLine line_of(const q3_k& block, int g) {
  const int integer = precast::detail::six_bits_of_16(block.scales, g) - 32;
  return {precast::detail::half_value(block.scale) * static_cast<f32>(integer), 0};
}
inline GroupLine line_of(const q2_k& block, int g) {
  return {precast::detail::half_value(block.scale) * static_cast<f32>(block.scales[g] & 15),
          precast::detail::half_value(block.least) * static_cast<f32>(block.scales[g] >> 4)};
}

}  // namespace precast::quant::detail
