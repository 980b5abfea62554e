// e3m4: a scalar dtype that Precast does not have. 1 sign, 3 exponent and 4 mantissa bits.
#pragma once

#include <cstdint>
#include <string_view>

#include <precast/dtype/scalar.hpp>

namespace extend {

// [e3m4 type]
/// A scalar type keeps its code in `bits`.
struct e3m4 {
  std::uint8_t bits = 0;
  friend constexpr bool operator==(e3m4, e3m4) = default;
};
// [e3m4 type]

}  // namespace extend

// [e3m4 traits]
template <>
struct precast::dtype_traits<extend::e3m4> {
  static constexpr std::string_view name = "e3m4", safetensors_name = "F8_E3M4";
  static constexpr int values_per_block = 1, bytes_per_block = 1;
  // The top exponent is kept, as IEEE 754 has it: with a mantissa of 0 it is infinity, with another one NaN.
  static constexpr precast::FloatFormat format{3, 4, precast::Specials::infinity_and_nan};
};
// [e3m4 traits]

static_assert(precast::dtype_traits<extend::e3m4>::format.max() == 15.5);
static_assert(precast::dtype_traits<extend::e3m4>::format.min_subnormal() == 0.015625);
