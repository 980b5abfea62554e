// How a block dtype decodes any run of its values: by pieces, each of which has one scale and one shift.
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

/// The number that an f16 code encodes.
PRECAST_HOST_DEVICE f32 half_value(std::uint16_t code) {
#if defined(__CUDA_ARCH__)
  f32 value;  // one instruction instead of ten
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
  return value;
#else
  return convert_value<f32>(f16{code});
#endif
}

/// An integer of 8 bits as f32.
PRECAST_HOST_DEVICE f32 byte_value(std::int8_t integer) {
#if defined(__CUDA_ARCH__)
  // The integer is added to the last bits of 2^23 + 128, which is subtracted again: both at the full rate,
  // where a conversion has an eighth of it.
  constexpr f32 middle = 8388608.0f + 128.0f;
  return bit_cast<f32>(bit_cast<std::int32_t>(middle) + integer) - middle;
#else
  return static_cast<f32>(integer);
#endif
}

}  // namespace precast::detail
