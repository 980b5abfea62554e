// f32 factors of products on tensor cores: each as a sum of 16-bit values, which are multiplied one after
// the other. A product of an f32 and a bf16 or f16 thus keeps all bits of both.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/tensor_core_products.hpp>

namespace precast::gpu {

/// How many values of T make an f32 of 24 bits: three bf16 of 8 bits, or two f16 of 11 bits and a sign.
template <ScalarDtype T>
inline constexpr int parts_of_f32 = std::is_same_v<T, bf16> ? 3 : 2;

/// The factor that makes the parts of values up to 1 normal numbers of T. f16 ends at 2^-24, which unscaled
/// would cut off the second part of any value below 2^-3.
template <ScalarDtype T>
inline constexpr f32 scale_of_parts = std::is_same_v<T, bf16> ? 1.0f : 0x1p15f;

/// The factor to multiply the final products by, where the left factor is in parts of T (InParts) or is
/// rounded to T.
template <ScalarDtype T, bool InParts>
inline constexpr f32 factor_of_parts = InParts ? 1.0f / scale_of_parts<T> : 1.0f;

/// Two values from 0 to 1, or in f16 not much more (below 1.99), times scale_of_parts, as words of a
/// fragment for each part. The remainder is at most 2^-24 of a value, or with f16 2^-40.
template <ScalarDtype T>
PRECAST_DEVICE void split_pair(f32 low, f32 high, std::uint32_t (&parts)[parts_of_f32<T>]) {
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, f16>, "split_pair: into bf16 or f16.");
  if constexpr (std::is_same_v<T, f16>) {
    constexpr f32 scale = scale_of_parts<T>;
    parts[0] = round_pair<T>(low * scale, high * scale);
    parts[1] = round_pair<T>(
        planted<"second part">(multiply_then_add(low, scale, -low_in_f32<T>(parts[0])), 0.0f),
        planted<"second part">(multiply_then_add(high, scale, -high_in_f32<T>(parts[0])), 0.0f));
  } else {
    PRECAST_UNROLL
    for (int part = 0; part < parts_of_f32<T>; ++part) {
      parts[part] = bit_cast<std::uint32_t>(low) >> 16 | (bit_cast<std::uint32_t>(high) & 0xffff0000u);
      low -= truncated_to_bf16(low);
      high -= truncated_to_bf16(high);
      if (part == 0) low = planted<"second part">(low, 0.0f);
    }
  }
}

namespace detail {
/// The four words of a fragment, each of two neighbours, in parts.
template <ScalarDtype T>
PRECAST_DEVICE void split_fragment(const f32 (&pairs)[4][2], Fragment<4> (&parts)[parts_of_f32<T>]) {
  PRECAST_UNROLL
  for (int word = 0; word < 4; ++word) {
    std::uint32_t words[parts_of_f32<T>];
    split_pair<T>(pairs[word][0], pairs[word][1], words);
    PRECAST_UNROLL
    for (int part = 0; part < parts_of_f32<T>; ++part) parts[part].words[word] = words[part];
  }
}
}  // namespace detail

/// Sums from 0 to 1 as a left factor of further products, straight from the registers that hold them.
template <ScalarDtype T, int Rows, int Depth>
struct SumsInParts {
  static constexpr int parts = parts_of_f32<T>;
  const TensorCoreAccumulator<Rows, Depth>& sums;

  PRECAST_DEVICE void operator()(int m, int step, Fragment<4> (&to)[parts]) const {
    const f32(&near)[4] = sums.tiles[m][2 * step].values;
    const f32(&far)[4] = sums.tiles[m][2 * step + 1].values;
    detail::split_fragment<T>({{near[0], near[1]}, {near[2], near[3]}, {far[0], far[1]}, {far[2], far[3]}},
                              to);
  }
};

/// Rows of f32 from 0 to 1 of a tile in shared memory, as a left factor.
template <ScalarDtype T, class Tile>
struct RowsInParts {
  static constexpr int parts = parts_of_f32<T>;
  Tile tile;
  int first_row;

  PRECAST_DEVICE void operator()(int m, int step, Fragment<4> (&to)[parts]) const {
    f32 pairs[4][2];
    PRECAST_UNROLL
    for (int word = 0; word < 4; ++word) {
      const int row = first_row + 16 * m + lane_index() / 4 + 8 * (word % 2);
      const int column = 16 * step + 2 * (lane_index() % 4) + 8 * (word / 2);
      const auto pair = load_vector<2>(tile.at_chunk(row, column / Tile::chunk) + column % Tile::chunk);
      pairs[word][0] = pair[0], pairs[word][1] = pair[1];
    }
    detail::split_fragment<T>(pairs, to);
  }
};

}  // namespace precast::gpu
