// What the tests of dtypes share: the list of scalars, their codes, and a decoder of its own to compare with.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <precast/dtype/scalar.hpp>

/// Calls `visitor.operator()<T>()` for each scalar dtype.
template <class Visitor>
void for_each_scalar(Visitor&& visitor) {
  precast::any_dtype(precast::ScalarDtypes{}, [&]<class T>() {
    visitor.template operator()<T>();
    return false;
  });
}

template <class T>
std::uint32_t code_of(T value) {
  if constexpr (std::is_same_v<T, precast::f32>)
    return std::bit_cast<std::uint32_t>(value);
  else
    return value.bits;
}

template <class T>
T value_of(std::uint32_t code) {
  if constexpr (std::is_same_v<T, precast::f32>)
    return std::bit_cast<precast::f32>(code);
  else
    return T{static_cast<decltype(T::bits)>(code)};
}

/// Calls `visitor(code)` for every code of T; for f32, whose codes are too many, for 2^20 of them that hold
/// each exponent, both signs and the ends of each binade.
template <class T, class Visitor>
void for_each_code(Visitor&& visitor) {
  if constexpr (std::is_same_v<T, precast::f32>) {
    for (std::uint32_t top = 0; top < 512; ++top)
      for (std::uint32_t i = 0; i < 2048; ++i) {
        const std::uint32_t scattered = i < 1024 ? i : i * 2654435761u;
        visitor((top << 23) | ((i & 1 ? ~scattered : scattered) & 0x7fffff));
      }
  } else {
    for (std::uint32_t code = 0; code < precast::dtype_traits<T>::format.codes(); ++code) visitor(code);
  }
}

/// The value of a code by the textbook's formula, in floating point: written without FloatFormat.
inline double textbook_value(std::uint32_t code, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const int sign = static_cast<int>((code >> (exponent_bits + mantissa_bits)) & 1);
  const int exponent = static_cast<int>((code >> mantissa_bits) & ((1u << exponent_bits) - 1));
  const double mantissa = std::ldexp(static_cast<double>(code & ((1u << mantissa_bits) - 1)), -mantissa_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int top = (1 << exponent_bits) - 1;
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias);
  if (has_infinity && exponent == top)
    value =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (!has_infinity &&
      (code & ((1u << (exponent_bits + mantissa_bits)) - 1)) == (1u << (exponent_bits + mantissa_bits)) - 1)
    value = std::numeric_limits<double>::quiet_NaN();
  return sign ? -value : value;
}

/// Equal as numbers with signs of zero told apart; any NaN equals any NaN.
inline bool same_number(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}
