// BlockReader of the formats with blocks of 256 values (block_readers.hpp says what a reader has).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <precast/dtype/blocks/k_blocks.hpp>
#include <precast/dtype/blocks/lookup_blocks.hpp>
#include <precast/host/blocks/block_readers.hpp>
#include <precast/host/blocks/code_lanes.hpp>

namespace precast::host::detail {

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// 256 columns in four vectors.
struct BlockOf256 : PlainReader {
  static constexpr int columns = 256, vectors = 4;
};

/// Lanes from the ninth on are the second half of something.
inline constexpr Words16 two_in_upper_half{0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2};

/// Which lanes have a group's scale: `groups` of a vector, one after another, from group `first` on.
template <int first, int step, int groups>
inline constexpr auto lanes_of_groups = indices<std::uint32_t>([](int lane) {
  return first + lane / (16 / groups) * step;
});

template <class Block>
  requires std::is_same_v<Block, q4_k> || std::is_same_v<Block, q5_k>
struct BlockReader<Block> : BlockOf256 {
  static constexpr bool has_fifth_bit = requires(Block block) { block.high; }
  , has_offsets = true;
  static constexpr int bytes = sizeof(Block), bits = has_fifth_bit ? 5 : 4;
  static constexpr int value(int code) { return code; }
  /// Vector 2 h + n has groups 4 h + n and 4 h + n + 2.
  static constexpr int column(int vector, int byte) {
    return 32 * (vector / 2 * 4 + vector % 2 + byte / 32 * 2) + byte % 32;
  }
  static constexpr ColumnRun offset_columns(int lane) {
    return lane < 8 ? ColumnRun{} : ColumnRun{32 * (lane - 8), 32};
  }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const auto& block = *reinterpret_cast<const Block*>(from);
    // detail::six_bits of all groups, a byte each: the scales of eight groups, then their least values.
    using Words4 = std::uint32_t __attribute__((vector_size(16)));
    Words4 words;
    std::memcpy(&words, from, sizeof words);
    const auto low = same_bits_as<Words4>(_mm_shuffle_epi32(same_bits_as<__m128i>(words), 0b11'10'11'01));
    const auto top = same_bits_as<Words4>(_mm_shuffle_epi32(same_bits_as<__m128i>(words), 0b10'10'01'01));
    constexpr Words4 down{0, 0, 0, 4}, of_low{0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f},
        of_top{0, 0x30303030, 0, 0x30303030};
    const Words4 integers = ((low >> down) & of_low) | ((top >> 2) & of_top);
    // The block's scale in eight lanes, and its least value, less than nothing, in the others.
    std::uint32_t halves;
    std::memcpy(&halves, from, sizeof halves);
    const __m128i pair = _mm_cvtsi32_si128(static_cast<int>(halves ^ 0x80000000u));
    static constexpr auto of_pair = indices<std::uint32_t>([](int lane) { return lane / 8; });
    const Floats16 both =
        looked_up(of_pair, same_bits_as<Floats16>(_mm512_castps128_ps512(_mm_cvtph_ps(pair))));
    const Floats16 scales = floats_of(same_bits_as<__m128i>(integers)) * both;
    to.offsets = scales;
    const Floats16 scaled = scales * factor;
    to.scales[0] = looked_up(lanes_of_groups<0, 2, 2>, scaled);
    to.scales[1] = looked_up(lanes_of_groups<1, 2, 2>, scaled);
    to.scales[2] = looked_up(lanes_of_groups<4, 2, 2>, scaled);
    to.scales[3] = looked_up(lanes_of_groups<5, 2, 2>, scaled);
    for (int half = 0; half < 2; ++half) {
      to.codes[2 * half] = loaded(block.low + 64 * half);
      to.codes[2 * half + 1] = to.codes[2 * half] >> 4;
    }
    if constexpr (has_fifth_bit) {
      // Bit g of a byte for group g, which two bits above it is that of the lanes in the upper half.
      const Words16 high = loaded_twice(block.high) >> two_in_upper_half;
      constexpr std::uint32_t fifth = 0x10101010;
      to.codes[0] = selected(fifth, high << 4, to.codes[0]);
      to.codes[1] = selected(fifth, high << 3, to.codes[1]);
      to.codes[2] = selected(fifth, high, to.codes[2]);
      to.codes[3] = selected(fifth, high >> 1, to.codes[3]);
    }
  }
};

template <>
struct BlockReader<q6_k> : BlockOf256 {
  static constexpr int bytes = sizeof(q6_k), bits = 6;
  static constexpr int value(int code) { return code - 32; }
  static constexpr int column(int vector, int byte) { return 64 * vector + byte; }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const auto& block = *reinterpret_cast<const q6_k*>(from);
    const Floats16 scales = floats_of(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block.scales))) *
                            (half_of(block.scale) * factor);
    to.scales[0] = looked_up(lanes_of_groups<0, 1, 4>, scales);
    to.scales[1] = looked_up(lanes_of_groups<4, 1, 4>, scales);
    to.scales[2] = looked_up(lanes_of_groups<8, 1, 4>, scales);
    to.scales[3] = looked_up(lanes_of_groups<12, 1, 4>, scales);
    for (int half = 0; half < 2; ++half) {
      const Words16 low = loaded(block.low + 64 * half);
      // Two bits for each quarter of half a block.
      const Words16 high = loaded_twice(block.high + 32 * half) >> two_in_upper_half;
      to.codes[2 * half] = selected(0x0f0f0f0f, low, high << 4);
      to.codes[2 * half + 1] = selected(0x0f0f0f0f, low >> 4, high);
    }
  }
};

/// Half a block in eight lanes: vector j has 32 values of each half, 32 j behind its first.
struct TwoBitBlock : BlockOf256 {
  static constexpr int column(int vector, int byte) { return byte / 32 * 128 + 32 * vector + byte % 32; }
  /// The groups of 16 that the lanes of a vector are in.
  template <int vector>
  static constexpr auto groups = indices<std::uint32_t>([](int lane) {
    return lane / 8 * 8 + 2 * vector + lane % 8 / 4;
  });

  [[gnu::always_inline]] static void put_scales(Floats16 scales, CodeLanes<vectors>& to) {
    to.scales[0] = looked_up(groups<0>, scales);
    to.scales[1] = looked_up(groups<1>, scales);
    to.scales[2] = looked_up(groups<2>, scales);
    to.scales[3] = looked_up(groups<3>, scales);
  }
};

template <>
struct BlockReader<q3_k> : TwoBitBlock {
  static constexpr int bytes = sizeof(q3_k), bits = 3;
  static constexpr int value(int code) { return code - 4; }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const auto& block = *reinterpret_cast<const q3_k*>(from);
    // detail::six_bits_of_16 of all groups, a byte each.
    std::uint64_t low_bits;
    std::uint32_t high_bits;
    std::memcpy(&low_bits, block.scales, sizeof low_bits);
    std::memcpy(&high_bits, block.scales + 8, sizeof high_bits);
    constexpr std::uint64_t four = 0x0f0f0f0f0f0f0f0f;
    const auto two_of = [&](int shift) { return std::uint64_t{high_bits >> shift & 0x03030303}; };
    const std::uint64_t first = (low_bits & four) | (two_of(0) | two_of(2) << 32) << 4,
                        second = (low_bits >> 4 & four) | (two_of(4) | two_of(6) << 32) << 4;
    const __m128i integers = _mm_sub_epi8(
        _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first)), _mm_set1_epi8(32));
    put_scales(floats_of(integers) * (half_of(block.scale) * factor), to);
    const Words16 low = loaded(block.low);
    constexpr Words16 four_in_upper_half = two_in_upper_half * 2;
    const Words16 high = loaded_twice(block.high) >> four_in_upper_half;
    constexpr std::uint32_t third = 0x04040404;
    to.codes[0] = selected(third, high << 2, low);
    to.codes[1] = selected(third, high << 1, low >> 2);
    to.codes[2] = selected(third, high, low >> 4);
    to.codes[3] = selected(third, high >> 1, low >> 6);
  }
};

template <>
struct BlockReader<q2_k> : TwoBitBlock {
  static constexpr bool has_offsets = true;
  static constexpr int bytes = sizeof(q2_k), bits = 2;
  static constexpr int value(int code) { return code; }
  static constexpr ColumnRun offset_columns(int lane) { return {16 * lane, 16}; }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const auto& block = *reinterpret_cast<const q2_k*>(from);
    const Bytes16 both = sixteen_bytes(block.scales);
    put_scales(floats_of(same_bits_as<__m128i>(four_bits_of(both, false))) * (half_of(block.scale) * factor),
               to);
    to.offsets = floats_of(same_bits_as<__m128i>(four_bits_of(both, true))) * -half_of(block.least);
    const Words16 low = loaded(block.low);
    for (int vector = 0; vector < 4; ++vector) to.codes[vector] = low >> (2 * vector);
  }
};

#if defined(__BMI2__) && defined(__F16C__)

/// Vector 2 h + n has one half of groups [4 h, 4 h + 4), four lanes each.
template <>
struct BlockReader<iq4_xs> : BlockOf256 {
  static constexpr int bytes = sizeof(iq4_xs), bits = 4;
  static constexpr int value(int code) { return precast::detail::iq4_value(code); }
  static constexpr int column(int vector, int byte) {
    return 32 * (vector / 2 * 4 + byte / 16) + vector % 2 * 16 + byte % 16;
  }

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const auto& block = *reinterpret_cast<const iq4_xs*>(from);
    // detail::group_scale of eight groups: a byte each, then a lane, of half a vector.
    std::uint32_t low;
    std::memcpy(&low, block.scales_low, sizeof low);
    const std::uint64_t integers =
        _pdep_u64(low, 0x0f0f0f0f0f0f0f0f) | _pdep_u64(block.scales_high, 0x3030303030303030);
    const __m256i groups = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(integers)));
    const __m256 of_groups = _mm256_cvtepi32_ps(_mm256_sub_epi32(groups, _mm256_set1_epi32(32)));
    std::uint32_t halves;
    std::memcpy(&halves, from, sizeof halves);
    const __m128 scale = _mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(halves)));
    const Floats16 scales =
        same_bits_as<Floats16>(_mm512_castps256_ps512(of_groups * _mm256_broadcastss_ps(scale))) * factor;
    to.scales[0] = to.scales[1] = looked_up(lanes_of_groups<0, 1, 4>, scales);
    to.scales[2] = to.scales[3] = looked_up(lanes_of_groups<4, 1, 4>, scales);
    for (int half = 0; half < 2; ++half) {
      to.codes[2 * half] = loaded(block.low + 64 * half);
      to.codes[2 * half + 1] = to.codes[2 * half] >> 4;
    }
  }
};

#endif
#endif

}  // namespace precast::host::detail
