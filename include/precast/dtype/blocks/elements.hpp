// The scalars that lie in blocks alone, for their facts: kernels read blocks.
#pragma once

#include <cstdint>
#include <string_view>

#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

namespace detail {
/// The elements of mxfp4 and nvfp4.
struct e2m1 {
  std::uint8_t bits = 0;
};
}  // namespace detail

template <>
struct dtype_traits<detail::e2m1> : detail::scalar_traits<detail::e2m1> {
  static constexpr std::string_view name = "e2m1";
  static constexpr FloatFormat format{2, 1, Specials::none};
};

/// Widest first. mxfp8's elements are fp8_e4m3.
using BlockElements = DtypeList<detail::e3m2, detail::e2m3, detail::e2m1>;

}  // namespace precast
