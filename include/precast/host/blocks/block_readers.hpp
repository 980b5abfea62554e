// BlockReader of the formats with one scale for 16 or 32 values: how some columns of a row become codes in
// lanes. Readers of blocks of 256 are in k_block_readers.hpp, of mxfp8 and of rows in byte_code_readers.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/blocks/lookup_blocks.hpp>
#include <precast/dtype/blocks/rounded_blocks.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/host/blocks/code_lanes.hpp>

namespace precast::host::detail {

/// How rows of a format are read, `columns` at a time, which lie in `bytes` bytes:
///
///   bits                  of a code in its byte; bits above them are anything
///   value(code)           the integer that a code stands for, or that times a power of two that the scales
///   leave
///                         out; value(0) + code if it has more than four bits. Or Code, of which dtype
///                         the codes are
///   column(vector, byte)  which column's code a byte of a vector is
///   head_bytes            those before the first block of a row, if there are any
///   has_offsets, offset_columns(lane)   the columns that CodeLanes::offsets are for
///   read(from, factor, to)    the codes; the scales times `factor`, a power of two
///
/// A value is value(code) * scale of its lane, and the offset.
template <class Format>
struct BlockReader {
  static constexpr bool exists = false;
};

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// Readers without offsets, of codes that are their values.
struct PlainReader {
  static constexpr bool exists = true, has_offsets = false;
  static constexpr ColumnRun offset_columns(int) { return {}; }
};

/// Four blocks of 32 whose last 16 bytes have four bits of value i and, above them, of value i + 16: blocks
/// lie in lanes [4 * block, 4 * block + 4).
struct FourBlocks : PlainReader {
  static constexpr int columns = 128, vectors = 2;
  static constexpr int column(int vector, int byte) { return byte / 16 * 32 + 16 * vector + byte % 16; }
};

template <class Format>
  requires std::is_same_v<Format, q4_0> || std::is_same_v<Format, q4_1> || std::is_same_v<Format, q5_0> ||
      std::is_same_v<Format, q5_1> || std::is_same_v<Format, iq4_nl>
struct BlockReader<Format> : FourBlocks {
  static constexpr bool has_fifth_bit = requires(Format block) { block.high; };
  static constexpr bool has_offsets = requires(Format block) { block.least; };
  static constexpr int bytes = 4 * sizeof(Format), bits = has_fifth_bit ? 5 : 4;
  static constexpr int value(int code) {
    if constexpr (std::is_same_v<Format, iq4_nl>) return precast::detail::iq4_value(code);
    return code - (has_offsets ? 0 : has_fifth_bit ? 16 : 8);
  }
  static constexpr ColumnRun offset_columns(int lane) { return {lane / 4 * 32 + lane % 4 * 8, 8}; }

  /// Where a word of 16 bits is in the first 64 bytes and the last few.
  static constexpr int in_last = bytes - 64 <= 16 ? 16 : 32;
  static constexpr int place(int word) { return word < 32 ? word : word + 32 - (bytes - in_last) / 2; }
  static constexpr int words = sizeof(Format) / 2;

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    static constexpr auto low_words =
        indices<std::uint16_t>([](int i) { return place(i / 8 * words + words - 8 + i % 8); });
    // The scales of all lanes, then their offsets.
    static constexpr auto scale_words =
        indices<std::uint16_t>([](int i) { return place(i % 16 / 4 * words + (has_offsets ? i / 16 : 0)); });
    const Words16 first = loaded(from);
    const std::byte* const end = from + bytes - in_last;
    const Words16 last = in_last == 16 ? loaded_four_times(end) : loaded_twice(end);
    const Words16 low = words_of(first, low_words, last), halves = words_of(first, scale_words, last);
    to.codes[0] = low;
    to.codes[1] = low >> 4;
    to.scales[0] = to.scales[1] = halves_of<0>(halves) * factor;
    if constexpr (has_offsets) to.offsets = halves_of<1>(halves);
    if constexpr (has_fifth_bit) {
      static constexpr auto high_words =
          indices<std::uint16_t>([](int i) { return place(i / 8 * words + words - 10 + i % 2); });
      constexpr Words16 in_block{0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12};
      // Bit i of these is the fifth of byte i of the lane, and bit i + 16 that of the other half.
      const Words16 high = words_of(first, high_words, last) >> in_block;
      // Bit i to bit 8 i + 4: no two of these products' bits meet.
      constexpr std::uint32_t spread = 0x00204081u << 4, fifth = 0x10101010;
      to.codes[0] = selected(fifth, (high & 15) * spread, to.codes[0]);
      to.codes[1] = selected(fifth, (high >> 16 & 15) * spread, to.codes[1]);
    }
  }
};

template <>
struct BlockReader<q8_0> : PlainReader {
  static constexpr int columns = 128, vectors = 2, bytes = 4 * sizeof(q8_0), bits = 8;
  static constexpr int value(int code) { return code < 128 ? code : code - 256; }
  static constexpr int column(int vector, int byte) { return 64 * vector + byte; }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const auto* const blocks = reinterpret_cast<const q8_0*>(from);
    // Of the first two blocks in one register, of the last two in the other.
    static constexpr auto scale_words =
        indices<std::uint16_t>([](int i) { return i / 8 % 2 * 17 + i / 16 * 32; });
    const Words16 halves = words_of(loaded(blocks), scale_words, loaded(blocks + 2));
    to.scales[0] = halves_of<0>(halves) * factor;
    to.scales[1] = halves_of<1>(halves) * factor;
    for (int v = 0; v < 2; ++v)
      to.codes[v] = loaded_halves(blocks[2 * v].integers, blocks[2 * v + 1].integers);
  }
};

#if defined(__AVX512VBMI__)

template <>
struct BlockReader<mxfp4> : FourBlocks {
  static constexpr int bytes = 4 * sizeof(mxfp4), bits = 4;
  static constexpr int value(int code) { return precast::detail::twice_e2m1(code); }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const Words16 first = loaded(from), last = loaded_four_times(from + bytes - 16);
    static constexpr auto low_bytes = indices<std::uint8_t>([](int i) {
      const int byte = i / 16 * 17 + 1 + i % 16;
      return byte < 64 ? byte : 64 + byte - (bytes - 16);
    });
    static constexpr auto scale_bytes = indices<std::uint8_t>([](int i) { return i / 16 * 17; });
    to.codes[0] = bytes_of(first, low_bytes, last);
    to.codes[1] = to.codes[0] >> 4;
    // detail::half_e8m0: the byte in the mantissa of 2^23.
    constexpr Words16 of_2_to_23 = Words16{} + 0x4b000000u;
    const auto powers =
        same_bits_as<Floats16>(words_with_byte_of(of_2_to_23, first, scale_bytes)) - (0x1p23f + 128);
    to.scales[0] = to.scales[1] = times_two_to(factor, powers);
  }
};

/// Two blocks of 64, each in eight lanes, two lanes a group of 16: a word of 16 bits for each lane has its
/// scale.
template <>
struct BlockReader<nvfp4> : PlainReader {
  static constexpr int columns = 128, vectors = 2, bytes = 2 * sizeof(nvfp4), bits = 4;
  /// Times 2^7, by which scales are multiplied less.
  static constexpr int value(int code) { return 128 * precast::detail::twice_e2m1(code); }
  static constexpr int column(int vector, int byte) { return byte / 8 * 16 + 8 * vector + byte % 8; }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const Words16 first = loaded(from), last = loaded_four_times(from + bytes - 16);
    static constexpr auto low_bytes = indices<std::uint8_t>([](int i) {
      const int byte = i / 32 * 36 + 4 + i % 32;
      return byte < 64 ? byte : 64 + byte - (bytes - 16);
    });
    static constexpr auto scale_bytes =
        indices<std::uint8_t>([](int i) { return i % 32 / 16 * 36 + i % 16 / 4; });
    to.codes[0] = bytes_of(first, low_bytes, last);
    to.codes[1] = to.codes[0] >> 4;
    // detail::half_unsigned_e4m3 over 2^7: as the code of an f16, whose exponent is 8 less.
    const auto codes = same_bits_as<Pairs32>(widened_bytes_of<std::uint16_t>(first, scale_bytes));
    const auto is_number = same_bits_as<Pairs32>(codes != 0x7f);
    const Pairs32 halves = (codes & 0x7f) << 7 & is_number;
    to.scales[0] = to.scales[1] = halves_of<0>(same_bits_as<Words16>(halves)) * factor;
  }
};

#endif
#endif

}  // namespace precast::host::detail
