// Codes (fp8_e4m3, fp8_e5m2, int8) of f32 values under a known scale, and their error.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/float_format.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/quant/exact_arithmetic.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

using precast::ScaledCode;

/// The largest magnitude of a code, to which a group's largest is scaled: 448, 57344 and 127.
template <ScaledCode Code>
constexpr f32 largest_code() {
  if constexpr (std::same_as<Code, std::int8_t>)
    return 127;
  else
    return static_cast<f32>(dtype_traits<Code>::format.max());
}

PRECAST_EXACT_ARITHMETIC_BEGIN

/// The scale of values whose largest magnitude is `most`.
template <ScaledCode Code>
f32 scale_for(f32 most) {
  return most == 0 ? 1.0f : std::max(most / largest_code<Code>(), std::numeric_limits<f32>::denorm_min());
}

namespace detail {

/// A quotient as a code: to nearest, ties to even, never beyond the largest. In f64 the quotient of two f32
/// is on the same side of every tie as the exact one, so this is one rounding.
template <ScaledCode Code>
Code scaled_code(double quotient) {
  if constexpr (std::same_as<Code, std::int8_t>) {
    const double limited = std::clamp(quotient, -127.0, 127.0);
    return static_cast<std::int8_t>((limited + 0x1.8p52) - 0x1.8p52);
  } else {
    return precast::detail::saturated(from_double<Code>(quotient));
  }
}

}  // namespace detail

namespace detail {

/// scaled_code of floats, lane by lane. The integer that a rounded quotient is in units of a code's last
/// place stands in the last bits of its word: above its exponent for normal numbers, and for smaller ones in
/// a sum whose last place is the least of them.
template <ScaledCode Code, class D>
[[gnu::always_inline]] inline auto scaled_codes(D quotients) {
  using I = typename VectorOf<std::int64_t, static_cast<int>(sizeof(D) / sizeof(double))>::type;
  constexpr FloatFormat format = dtype_traits<Code>::format;
  constexpr int dropped = 52 - format.mantissa_bits;
  constexpr double unit = format.min_subnormal() * 0x1.8p52;
  constexpr auto most = bit_cast<std::int64_t>(format.max()),
                 least = bit_cast<std::int64_t>(format.min_normal());
  const I word = reinterpret_cast<I>(quotients);
  I size = word & std::numeric_limits<std::int64_t>::max();
  size = size < most ? size : every<I>(most);
  const I normal = ((size + ((std::int64_t{1} << (dropped - 1)) - 1) + (size >> dropped & 1)) >> dropped) -
                   (std::int64_t{1023 - format.bias()} << format.mantissa_bits);
  const I below = reinterpret_cast<I>(reinterpret_cast<D>(size) + unit) - bit_cast<std::int64_t>(unit);
  return (size < least ? below : normal) | (word >> 56 & 0x80);
}

}  // namespace detail

/// Writes the nearest code of each value under a known scale, ties to even, on the caller's thread. Values
/// must be finite.
template <ScaledCode Code>
void encode_under_scale(std::span<const f32> values, f32 scale, std::span<Code> codes) {
  const auto divisor = static_cast<double>(scale);
  std::size_t i = 0;
  if constexpr (!std::same_as<Code, std::int8_t>) {
    constexpr std::size_t lanes = detail::native_lanes / 2;
    using D = typename detail::VectorOf<double, lanes>::type;
    for (; i + lanes <= values.size(); i += lanes) {
      const auto here = detail::load<typename detail::VectorOf<f32, lanes>::type>(values.data() + i);
      const auto found = detail::scaled_codes<Code>(__builtin_convertvector(here, D) / divisor);
      detail::store(__builtin_convertvector(found, typename detail::VectorOf<std::uint8_t, lanes>::type),
                    reinterpret_cast<std::uint8_t*>(codes.data() + i));
    }
  }
  for (; i < values.size(); ++i)
    codes[i] = detail::scaled_code<Code>(static_cast<double>(values[i]) / divisor);
}

namespace detail {

/// The sum of weight * squared error of values under a scale, as they decode, in f64 and in their order;
/// there are as many weights as values, or none, where all errors count alike.
template <ScaledCode Code>
double squared_error_under(std::span<const f32> values, std::span<const f32> weights, f32 scale) {
  std::array<Code, 256> codes;
  double error = 0;
  for (std::size_t first = 0; first < values.size(); first += codes.size()) {
    const auto here = values.subspan(first, std::min(codes.size(), values.size() - first));
    encode_under_scale<Code>(here, scale, std::span(codes).first(here.size()));
    for (std::size_t i = 0; i < here.size(); ++i) {
      const f32 decoded = precast::detail::value_of_code<Code>(std::bit_cast<std::uint8_t>(codes[i])) * scale;
      const double off = static_cast<double>(decoded) - static_cast<double>(here[i]);
      error += (weights.empty() ? 1.0 : static_cast<double>(weights[first + i])) * (off * off);
    }
  }
  return error;
}

}  // namespace detail

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
