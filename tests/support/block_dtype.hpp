// A block dtype of the tests, which the library does not have: 32 values of 8 bits and their scale, defined
// as in a user's header.
#pragma once

#include <cstdint>
#include <string_view>

#include <precast/dtype/decode_run.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::testing {

/// 32 values: scale times an integer each.
struct Blocks32 {
  std::uint16_t scale;  ///< the code of an f16
  std::int8_t integers[32];
};

}  // namespace precast::testing

template <>
struct precast::dtype_traits<precast::testing::Blocks32> {
  static constexpr std::string_view name = "blocks32";
  static constexpr int values_per_block = 32;
  static constexpr int bytes_per_block = 34;
  PRECAST_HOST_DEVICE static void decode(const precast::testing::Blocks32& block, int first, int count,
                                         f32* values) {
    const f32 scale = precast::convert_value<f32>(f16{block.scale});
    for (int i = 0; i < count; ++i) values[i] = scale * static_cast<f32>(block.integers[first + i]);
  }
};
