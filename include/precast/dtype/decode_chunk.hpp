// decode_chunk: a short run of values of a block, as loaders of kernels take them: of a length that the
// compiler knows, so that they stay in registers.
#pragma once

#include <cstdint>

#include <precast/dtype/blocks/in_pieces.hpp>
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

}  // namespace detail

/// Values of a block dtype that share scale and shift, where its traits decode piece by piece; else 0.
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
  if constexpr (in_piece > 0 && in_piece % Count == 0)
    dtype_traits<T>::decode_piece(block, first / in_piece, first % in_piece, Count, values);
  else
    dtype_traits<T>::decode(block, first, Count, values);
}

}  // namespace precast
