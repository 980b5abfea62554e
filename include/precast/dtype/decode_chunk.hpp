// decode_chunk: decodes a short run of values of a block for loaders of kernels. The compiler knows its
// length, so that the values stay in registers.
#pragma once

#include <cstdint>

#include <precast/dtype/blocks/in_pieces.hpp>
#include <precast/dtype/blocks/lookup_blocks.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/dtype/decode_run.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

namespace detail {

template <class Block, int values, int bytes, int in_piece>
consteval int values_of_piece(const decoded_in_pieces<Block, values, bytes, in_piece>*) {
  return in_piece;
}
consteval int values_of_piece(const void*) { return 0; }

/// A table of 16 small integers in two words: kernels would put an array on the stack.
struct TableInWords {
  std::uint64_t low = 0, high = 0;

  template <class F>
  static PRECAST_HOST_DEVICE_CONSTEXPR TableInWords of(F&& value) {
    TableInWords table;
    for (int code = 0; code < 8; ++code) {
      table.low |= std::uint64_t{static_cast<std::uint8_t>(value(code))} << (8 * code);
      table.high |= std::uint64_t{static_cast<std::uint8_t>(value(code + 8))} << (8 * code);
    }
    return table;
  }
  PRECAST_HOST_DEVICE int operator[](int code) const {
    return static_cast<std::int8_t>((code & 8 ? high : low) >> (8 * (code & 7)));
  }
};
PRECAST_HOST_DEVICE TableInWords iq4_in_words() {
  constexpr TableInWords table = TableInWords::of([](int code) { return iq4_value(code); });
  return table;
}
PRECAST_HOST_DEVICE TableInWords e2m1_in_words() {
  constexpr TableInWords table = TableInWords::of([](int code) { return twice_e2m1(code); });
  return table;
}

/// The 4-bit codes of a run of values, all under one scale.
struct CodePlace {
  f32 scale;
  const std::uint8_t* low;
  int shift;
};
/// Value i of a run: the scale times the table's entry for its code.
template <int Count>
PRECAST_HOST_DEVICE void look_up(const TableInWords& table, const CodePlace& at, f32* values) {
  for (int i = 0; i < Count; ++i)
    values[i] = product_with_subnormals(at.scale, static_cast<f32>(table[(at.low[i] >> at.shift) & 15]));
}

// decode_aligned: values [first, first + Count) of block dtypes that decode a run faster than one value at
// a time; first is a multiple of Count.

template <int Count>
PRECAST_HOST_DEVICE void decode_aligned(const iq4_nl& block, int first, f32* values) {
  look_up<Count>(iq4_in_words(), {half_value(block.scale), block.low + first % 16, first / 16 * 4}, values);
}
template <int Count>
PRECAST_HOST_DEVICE void decode_aligned(const iq4_xs& block, int first, f32* values) {
  const int group = first / 32;
  const f32 scale = half_value(block.scale) * static_cast<f32>(group_scale(block, group));
  look_up<Count>(iq4_in_words(), {scale, block.low + 16 * group + first % 16, first % 32 / 16 * 4}, values);
}
template <int Count>
PRECAST_HOST_DEVICE void decode_aligned(const mxfp4& block, int first, f32* values) {
  look_up<Count>(e2m1_in_words(), {half_e8m0(block.scale), block.low + first % 16, first / 16 * 4}, values);
}
template <int Count>
PRECAST_HOST_DEVICE void decode_aligned(const nvfp4& block, int first, f32* values) {
  const int group = first / 16;
  look_up<Count>(
      e2m1_in_words(),
      {half_unsigned_e4m3(block.scales[group]), block.low + 8 * group + first % 8, first % 16 / 8 * 4},
      values);
}
/// Decodes four codes from each three bytes, so that all shifts are constants.
template <int Count, Mxfp6 Block>
  requires(Count % 4 == 0)
PRECAST_HOST_DEVICE void decode_aligned(const Block& block, int first, f32* values) {
  decode_elements<Block>(block.codes + first / 4 * 3, 0, Count, e8m0(block.scale), values);
}

}  // namespace detail

/// Values of a block dtype that share a scale and a shift, where its traits decode by pieces; else 0.
template <BlockDtype T>
inline constexpr int values_in_piece = detail::values_of_piece(static_cast<const dtype_traits<T>*>(nullptr));

/// How many values a thread decodes at a time: eight where these never cross the end of a block.
template <BlockDtype T>
inline constexpr int values_in_chunk = dtype_traits<T>::values_per_block % 8 == 0 ? 8 : 1;

/// Values [first, first + Count) of a block as f32: the bits that its `decode` gives. `first` is a multiple
/// of Count, which divides the values of a block.
template <BlockDtype T, int Count>
[[gnu::always_inline]] PRECAST_HOST_DEVICE void decode_chunk(const T& block, int first, f32* values) {
  static_assert(dtype_traits<T>::values_per_block % Count == 0,
                "decode_chunk: chunks do not cross the end of a block.");
  constexpr int in_piece = values_in_piece<T>;
  if constexpr (requires { detail::decode_aligned<Count>(block, first, values); }) {
    static_assert(Count <= in_piece, "decode_chunk: values of a chunk have one scale.");
    detail::decode_aligned<Count>(block, first, values);
  } else if constexpr (in_piece > 0 && in_piece % Count == 0) {
    dtype_traits<T>::decode_piece(block, first / in_piece, first % in_piece, Count, values);
  } else {
    dtype_traits<T>::decode(block, first, Count, values);
  }
}

}  // namespace precast
