// BlockSplitter: rows of blocks taken apart into integers of 8 bits, and the scale and offset of each piece
// of them, for products that turn rows into columns: integers are turned in a quarter of the time of f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/byte_lanes.hpp>
#include <precast/host/decode_steps.hpp>

namespace precast::host {

/// Rows that are taken apart together, and the most columns of each: a block of the largest formats.
inline constexpr std::int64_t split_rows = 64, split_columns = 256;

/// The most pieces of a row that is taken apart.
inline constexpr std::int64_t split_pieces = split_columns / 16;

/// Where one row of a group of 64 goes. Value c of it is codes[c / 16 * 64 + c % 16] * scale + offset, each
/// operation rounded to f32, with the scale and the offset of its piece.
struct SplitRow {
  std::int8_t* codes;
  f32* scales;
  f32* offsets;

  [[gnu::always_inline]] void put_codes(std::int64_t sixteenth, detail::Bytes16 sixteen) const {
    std::memcpy(codes + 64 * sixteenth, &sixteen, sizeof sixteen);
  }
};

/// How the rows of one format are taken apart; without a function where they are not.
struct BlockSplitter {
  /// `columns` values, whole blocks and at most split_columns of them, from a block on.
  using Split = void (*)(const std::byte* blocks, std::int64_t columns, const SplitRow& to);

  Split split = nullptr;
  int values_in_piece = 0;
  bool has_offsets = false;
  int values_per_block = 0, bytes_per_block = 0;
};

namespace detail {

/// The codes of one block, its values from `first` of the run on, and the scales of its pieces. `pieces` come
/// before it.
inline void split_block(const q8_0& block, std::int64_t at, const SplitRow& to) {
  to.scales[at] = half_of(block.scale);
  for (int half = 0; half < 2; ++half) to.put_codes(2 * at + half, sixteen_bytes(block.integers + 16 * half));
}

/// Integers of a block of 32 in four bits, or five with `high`, less `less`.
template <class Block>
[[gnu::always_inline]] inline void split_rounded(const Block& block, int less, std::int64_t at,
                                                 const SplitRow& to) {
  const Bytes16 low = sixteen_bytes(block.low);
  for (int half = 0; half < 2; ++half) {
    Bytes16 codes = four_bits_of(low, half != 0);
    if constexpr (requires { block.high; }) {
      constexpr Bytes16 bit_of{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
      const std::uint8_t first = block.high[2 * half], second = block.high[2 * half + 1];
      const Bytes16 bits{first,  first,  first,  first,  first,  first,  first,  first,
                         second, second, second, second, second, second, second, second};
      codes |= reinterpret_cast<Bytes16>((bits & bit_of) != 0) & 16;
    }
    to.put_codes(2 * at + half, codes - static_cast<std::uint8_t>(less));
  }
}
inline void split_block(const q4_0& block, std::int64_t at, const SplitRow& to) {
  to.scales[at] = half_of(block.scale);
  split_rounded(block, 8, at, to);
}
inline void split_block(const q5_0& block, std::int64_t at, const SplitRow& to) {
  to.scales[at] = half_of(block.scale);
  split_rounded(block, 16, at, to);
}
template <class Block>
  requires std::is_same_v<Block, q4_1> || std::is_same_v<Block, q5_1>
void split_block(const Block& block, std::int64_t at, const SplitRow& to) {
  to.scales[at] = half_of(block.scale);
  to.offsets[at] = half_of(block.least);
  split_rounded(block, 0, at, to);
}

template <class Block>
  requires std::is_same_v<Block, q4_k> || std::is_same_v<Block, q5_k>
void split_block(const Block& block, std::int64_t, const SplitRow& to) {
  // detail::six_bits of all groups, a byte each: the scales of eight groups, then their least values.
  std::uint32_t words[3];
  std::memcpy(words, block.scales, sizeof words);
  constexpr std::uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x03030303;
  const std::uint32_t integers[4] = {words[0] & six, (words[2] & four) | (words[0] >> 6 & two) << 4,
                                     words[1] & six, (words[2] >> 4 & four) | (words[1] >> 6 & two) << 4};
  Bytes16 bytes;
  std::memcpy(&bytes, integers, sizeof bytes);
  Floats16 wide;
  to_floats(bytes, wide);
  const Floats16 scales = wide * half_of(block.scale), offsets = -(wide * half_of(block.least));
  std::memcpy(to.scales, &scales, 8 * sizeof(f32));
  std::memcpy(to.offsets, reinterpret_cast<const f32*>(&offsets) + 8, 8 * sizeof(f32));
#pragma GCC unroll 4
  for (int pair = 0; pair < 4; ++pair)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const Bytes16 low = sixteen_bytes(block.low + 32 * pair + 16 * half);
#pragma GCC unroll 2
      for (int upper = 0; upper < 2; ++upper) {
        Bytes16 codes = four_bits_of(low, upper != 0);
        const int group = 2 * pair + upper;
        if constexpr (requires { block.high; })
          codes |=
              where_set(sixteen_bytes(block.high + 16 * half), static_cast<std::uint8_t>(1 << group), 16);
        to.put_codes(2 * group + half, codes);
      }
    }
}

inline void split_block(const q6_k& block, std::int64_t, const SplitRow& to) {
  Floats16 scales;
  to_floats(reinterpret_cast<SignedBytes16>(sixteen_bytes(block.scales)), scales);
  scales = scales * half_of(block.scale);
  std::memcpy(to.scales, &scales, sizeof scales);
#pragma GCC unroll 16
  for (int group = 0; group < 16; ++group) {
    const int half = group / 8, quarter = group % 8 / 2, in_quarter = 16 * (group % 2);
    const Bytes16 low = four_bits_of(sixteen_bytes(block.low + 64 * half + 32 * (quarter % 2) + in_quarter),
                                     quarter / 2 != 0);
    const Bytes16 high = shifted_right(sixteen_bytes(block.high + 32 * half + in_quarter), 2 * quarter);
    to.put_codes(group, (low | shifted_left(high & 3, 4)) - 32);
  }
}

/// Whether a block dtype is taken apart.
template <class Format>
concept Split = requires(const Format& block, const SplitRow& to) {
  split_block(block, 0, to);
};

template <Split Format>
void split_row(const std::byte* blocks, std::int64_t columns, const SplitRow& to) {
  constexpr int in_block = dtype_traits<Format>::values_per_block;
  const auto* const from = reinterpret_cast<const Format*>(blocks);
  for (std::int64_t at = 0; at * in_block < columns; ++at) split_block(from[at], at, to);
}

}  // namespace detail

/// How the format of that name is taken apart.
inline BlockSplitter block_splitter(std::string_view format) {
  BlockSplitter splitter;
  visit_block_format(format, [&]<class Format>(std::type_identity<Format>) {
    if constexpr (detail::Split<Format>)
      splitter = {&detail::split_row<Format>,
                  dtype_traits<Format>::values_per_block == 256 && !requires(Format b){b.least; } ? 16 : 32,
                  requires(Format b) {
    b.least; },
                  dtype_traits<Format>::values_per_block,
                  dtype_traits<Format>::bytes_per_block
};
});
return splitter;
}

}  // namespace precast::host
