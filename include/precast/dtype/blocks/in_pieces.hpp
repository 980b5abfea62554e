// How a block decodes any run of its values: piece by piece, in each of which scale and shift are the same.
#pragma once

#include <cstdint>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::detail {

/// The facts of a block dtype Block of `values` values in `bytes` bytes, and its `decode`
/// (dtype/decode_run.hpp) made of dtype_traits<Block>::decode_piece(block, piece, first, count, values),
/// which writes values [first, first + count) of a piece of `in_piece` values.
template <class Block, int values, int bytes, int in_piece>
struct decoded_in_pieces {
  static constexpr int values_per_block = values;
  static constexpr int bytes_per_block = bytes;

  PRECAST_HOST_DEVICE static void decode(const Block& block, int first, int count, f32* to) {
    while (count > 0) {
      const int from = first % in_piece;
      const int some = min_of(count, in_piece - from);
      dtype_traits<Block>::decode_piece(block, first / in_piece, from, some, to);
      first += some, count -= some, to += some;
    }
  }
};

/// The number behind the code of an f16.
PRECAST_HOST_DEVICE f32 half_value(std::uint16_t code) { return convert_value<f32>(f16{code}); }

}  // namespace precast::detail
