// decode_step: decodes a step of values of each block format of the library in vectors, with the bits of
// its `decode` (dtype/blocks). The layouts are described there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <precast/dtype/blocks/k_blocks.hpp>
#include <precast/dtype/blocks/lookup_blocks.hpp>
#include <precast/dtype/blocks/rounded_blocks.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/host/simd/byte_lanes.hpp>

namespace precast::host::detail {

/// Values of a step: a block of 32, or 64 values of larger ones.
template <class Format>
inline constexpr int values_in_step = dtype_traits<Format>::values_per_block == 32 ? 32 : 64;

template <class To>
[[gnu::always_inline]] inline void decode_step(const q8_0& block, int, const To& sink) {
  const f32 scale = half_of(block.scale);
  for (int half = 0; half < 2; ++half) {
    Floats16 values;
    to_floats(reinterpret_cast<SignedBytes16>(sixteen_bytes(block.integers + 16 * half)), values);
    sink.put(half, values * scale);
  }
}

/// Integers of a block of 32 in four bits, or five with `high`, less `less`, times scale.
template <int less, class Block, class To, class Finish>
[[gnu::always_inline]] inline void decode_rounded(const Block& block, const To& sink, Finish&& finish) {
  const Bytes16 low = sixteen_bytes(block.low);
  for (int half = 0; half < 2; ++half) {
    Ints16 integers;
    widen(four_bits_of(low, half != 0), integers);
    if constexpr (requires { block.high; }) {
      const auto bits = static_cast<std::uint32_t>(block.high[2 * half] | block.high[2 * half + 1] << 8) << 4;
      integers = integers | same_bits_as<Ints16>(((Words16{} + bits) >> numbers_of_lanes()) & 16u);
    }
    Floats16 values = floats_of(integers - less);
    finish(values);
    sink.put(half, values);
  }
}

template <class To>
[[gnu::always_inline]] inline void decode_step(const q4_0& block, int, const To& sink) {
  const f32 scale = half_of(block.scale);
  decode_rounded<8>(block, sink, [&](Floats16& values) { values = values * scale; });
}
template <class To>
[[gnu::always_inline]] inline void decode_step(const q5_0& block, int, const To& sink) {
  const f32 scale = half_of(block.scale);
  decode_rounded<16>(block, sink, [&](Floats16& values) { values = values * scale; });
}
template <class To>
[[gnu::always_inline]] inline void decode_step(const q4_1& block, int, const To& sink) {
  const f32 scale = half_of(block.scale), least = half_of(block.least);
  decode_rounded<0>(block, sink, [&](Floats16& values) { values = values * scale + least; });
}
template <class To>
[[gnu::always_inline]] inline void decode_step(const q5_1& block, int, const To& sink) {
  const f32 scale = half_of(block.scale), least = half_of(block.least);
  decode_rounded<0>(block, sink, [&](Floats16& values) { values = values * scale + least; });
}

/// Two groups of 32 of q4_k and q5_k.
template <class Block, class To>
[[gnu::always_inline]] inline void decode_two_groups(const Block& block, int step, const To& sink) {
  const f32 block_scale = half_of(block.scale), block_least = half_of(block.least);
  for (int of_two = 0; of_two < 2; ++of_two) {
    const auto integers = precast::detail::six_bits(block.scales, 2 * step + of_two);
    const f32 scale = block_scale * static_cast<f32>(integers.scale);
    const f32 least = block_least * static_cast<f32>(integers.least);
    for (int half = 0; half < 2; ++half) {
      Bytes16 codes = four_bits_of(sixteen_bytes(block.low + 32 * step + 16 * half), of_two != 0);
      if constexpr (requires { block.high; })
        codes |= where_set(sixteen_bytes(block.high + 16 * half),
                           static_cast<std::uint8_t>(1 << (2 * step + of_two)), 16);
      Floats16 values;
      to_floats(codes, values);
      sink.put(2 * of_two + half, values * scale - least);
    }
  }
}

template <class To>
[[gnu::always_inline]] inline void decode_step(const q4_k& block, int step, const To& sink) {
  decode_two_groups(block, step, sink);
}
template <class To>
[[gnu::always_inline]] inline void decode_step(const q5_k& block, int step, const To& sink) {
  decode_two_groups(block, step, sink);
}

template <class To>
[[gnu::always_inline]] inline void decode_step(const q6_k& block, int step, const To& sink) {
  const f32 block_scale = half_of(block.scale);
  const int half = step / 2, upper = step % 2;
  for (int i = 0; i < 4; ++i) {
    const f32 scale = block_scale * static_cast<f32>(block.scales[4 * step + i]);
    const Bytes16 low = four_bits_of(sixteen_bytes(block.low + 64 * half + 16 * i), upper != 0);
    const Bytes16 high =
        shifted_right(sixteen_bytes(block.high + 32 * half + 16 * (i % 2)), 4 * upper + i / 2 * 2);
    Floats16 values;
    to_floats(low | shifted_left(high & 3, 4), values, 32);
    sink.put(i, values * scale);
  }
}

/// Sixteen codes of two bits of a group of q2_k and q3_k.
[[gnu::always_inline]] inline Bytes16 two_bits_of(const std::uint8_t* low, int group) {
  return shifted_right(sixteen_bytes(low + 32 * (group / 8) + 16 * (group % 2)), group % 8 / 2 * 2) & 3;
}

template <class To>
[[gnu::always_inline]] inline void decode_step(const q3_k& block, int step, const To& sink) {
  const f32 block_scale = half_of(block.scale);
  // detail::six_bits_of_16 of four groups, a byte each.
  std::uint32_t low_bits, high_bits;
  std::memcpy(&low_bits, block.scales + 4 * (step % 2), sizeof low_bits);
  std::memcpy(&high_bits, block.scales + 8, sizeof high_bits);
  const std::uint32_t integers =
      (low_bits >> (step / 2 * 4) & 0x0f0f0f0f) | (high_bits >> (2 * step) & 0x03030303) << 4;
  for (int i = 0; i < 4; ++i) {
    const int group = 4 * step + i;
    const f32 scale = block_scale * static_cast<f32>(static_cast<int>(integers >> (8 * i) & 63) - 32);
    const Bytes16 high = where_set(sixteen_bytes(block.high + 16 * (group % 2)),
                                   static_cast<std::uint8_t>(1 << (group / 2)), 4);
    Floats16 values;
    to_floats(two_bits_of(block.low, group) | high, values, 4);
    sink.put(i, values * scale);
  }
}

template <class To>
[[gnu::always_inline]] inline void decode_step(const q2_k& block, int step, const To& sink) {
  const f32 block_scale = half_of(block.scale), block_least = half_of(block.least);
  for (int i = 0; i < 4; ++i) {
    const int group = 4 * step + i, integers = block.scales[group];
    const f32 scale = block_scale * static_cast<f32>(integers & 15),
              least = block_least * static_cast<f32>(integers >> 4);
    Floats16 values;
    to_floats(two_bits_of(block.low, group), values);
    sink.put(i, values * scale - least);
  }
}

/// A function of a code of four bits as a table of it.
template <class Function>
constexpr Table16 table_of(Function function) {
  Table16 table{};
  for (int code = 0; code < 16; ++code)
    table[static_cast<std::size_t>(code)] = static_cast<std::int8_t>(function(code));
  return table;
}
inline constexpr Table16 iq4_table = table_of(precast::detail::iq4_value);
inline constexpr Table16 e2m1_table = table_of(precast::detail::twice_e2m1);

/// Sixteen bytes of two codes each, the second sixteen values above the first.
template <class To>
[[gnu::always_inline]] inline void decode_looked_up(const Table16& table, const std::uint8_t* low, f32 scale,
                                                    int first, const To& sink) {
  const Bytes16 bytes = sixteen_bytes(low);
  for (int half = 0; half < 2; ++half) {
    Floats16 values;
    to_floats(looked_up(table, four_bits_of(bytes, half != 0)), values);
    sink.put(first + half, values * scale);
  }
}

template <class To>
[[gnu::always_inline]] inline void decode_step(const iq4_nl& block, int, const To& sink) {
  decode_looked_up(iq4_table, block.low, half_of(block.scale), 0, sink);
}
template <class To>
[[gnu::always_inline]] inline void decode_step(const iq4_xs& block, int step, const To& sink) {
  const f32 block_scale = half_of(block.scale);
  for (int of_two = 0; of_two < 2; ++of_two) {
    const int group = 2 * step + of_two;
    decode_looked_up(iq4_table, block.low + 16 * group,
                     block_scale * static_cast<f32>(precast::detail::group_scale(block, group)), 2 * of_two,
                     sink);
  }
}
template <class To>
[[gnu::always_inline]] inline void decode_step(const mxfp4& block, int, const To& sink) {
  decode_looked_up(e2m1_table, block.low, precast::detail::half_e8m0(block.scale), 0, sink);
}

template <class To>
[[gnu::always_inline]] inline void decode_step(const nvfp4& block, int, const To& sink) {
  for (int group = 0; group < 4; ++group) {
    std::uint64_t bytes;
    std::memcpy(&bytes, block.low + 8 * group, sizeof bytes);
    constexpr std::uint64_t low = 0x0f0f0f0f0f0f0f0f;
    using Halves = std::uint64_t __attribute__((vector_size(16)));
    const Halves codes = (Halves{bytes, bytes} >> Halves{0, 4}) & low;
    Floats16 values;
    to_floats(looked_up(e2m1_table, reinterpret_cast<Bytes16>(codes)), values);
    // detail::half_unsigned_e4m3: the code shifted into place, times 2^119.
    const std::uint8_t code = block.scales[group];
    const f32 scale = bit_cast<f32>(code == 0x7f ? 0u : (code & 0x7fu) << 20) * 0x1p119f;
    sink.put(group, values * scale);
  }
}

template <precast::detail::Microscaled Block, class To>
[[gnu::always_inline]] inline void decode_step(const Block& block, int, const To& sink) {
  const f32 scale = precast::detail::e8m0(block.scale);
  for (int half = 0; half < 2; ++half) {
    const Bytes16 codes = [&] {
      if constexpr (precast::detail::Mxfp6<Block>)
        return six_bits_apart(sixteen_bytes(block.codes + 8 * half), half != 0);
      else
        return sixteen_bytes(block.codes + 16 * half);
    }();
    Floats16 values;
    if (small_numbers_of<precast::detail::element_of<Block>>(codes, values)) [[likely]] {
      values = values * scale;
    } else {
      f32 some[16];
      dtype_traits<Block>::decode(block, 16 * half, 16, some);
      values = loaded_floats(some);
    }
    sink.put(half, values);
  }
}

/// Whether a block dtype is decoded in steps; a user-defined one is not.
template <class Format>
concept DecodedInSteps = requires(const Format& block, const Sink<f32>& sink) {
  decode_step(block, 0, sink);
};

/// decode_step, instantiated for each step, so that all shifts are constants.
template <class Format, class To>
[[gnu::always_inline]] inline void decode_known_step(const Format& block, int step, const To& sink) {
  constexpr int steps = dtype_traits<Format>::values_per_block / values_in_step<Format>;
  static_assert(steps == 1 || steps == 4);
  if constexpr (steps == 1) return decode_step(block, 0, sink);
  switch (step) {
    case 0:
      return decode_step(block, 0, sink);
    case 1:
      return decode_step(block, 1, sink);
    case 2:
      return decode_step(block, 2, sink);
    default:
      return decode_step(block, 3, sink);
  }
}

/// All steps of a block, whose scales are read once.
template <class Format, class To>
[[gnu::always_inline]] inline void decode_whole_block(const Format& block, const To& sink) {
  constexpr int in_step = values_in_step<Format>;
  decode_step(block, 0, sink);
  if constexpr (dtype_traits<Format>::values_per_block > in_step) {
    decode_step(block, 1, sink.behind(in_step));
    decode_step(block, 2, sink.behind(2 * in_step));
    decode_step(block, 3, sink.behind(3 * in_step));
  }
}

}  // namespace precast::host::detail
