// The scalar dtypes (f32 tf32 bf16 f16 fp8_e4m3 fp8_e5m2), and the one conversion between them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include <precast/dtype/dtype.hpp>
#include <precast/dtype/float_format.hpp>

namespace precast {

/// IEEE 754 binary32.
using f32 = float;

/// TensorFloat-32: f32's exponent, 10 mantissa bits. A format of matmul operands, which no policy stores; a
/// Tensor may hold the result of a cast to it, in four bytes: `bits` is its 19-bit code.
struct tf32 {
  std::uint32_t bits = 0;
  friend constexpr bool operator==(tf32, tf32) = default;
};

/// Brain float: f32's exponent, 7 mantissa bits.
struct bf16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(bf16, bf16) = default;
};

/// IEEE 754 binary16.
struct f16 {
  std::uint16_t bits = 0;
  friend constexpr bool operator==(f16, f16) = default;
};

/// OCP 8-bit float, 4 exponent and 3 mantissa bits, no infinity (e4m3fn).
struct fp8_e4m3 {
  std::uint8_t bits = 0;
  friend constexpr bool operator==(fp8_e4m3, fp8_e4m3) = default;
};

/// OCP 8-bit float, 5 exponent and 2 mantissa bits.
struct fp8_e5m2 {
  std::uint8_t bits = 0;
  friend constexpr bool operator==(fp8_e5m2, fp8_e5m2) = default;
};

namespace detail {
template <class T>
struct scalar_traits {
  static constexpr int values_per_block = 1;
  static constexpr int bytes_per_block = sizeof(T);
  using between_ops = T;
};
}  // namespace detail

template <>
struct dtype_traits<f32> : detail::scalar_traits<f32> {
  static constexpr std::string_view name = "f32", safetensors_name = "F32";
  static constexpr FloatFormat format{8, 23};
};
template <>
struct dtype_traits<tf32> : detail::scalar_traits<tf32> {
  static constexpr std::string_view name = "tf32";
  static constexpr FloatFormat format{8, 10};
  static constexpr bool operands_only = true;
  using between_ops = f32;
};
template <>
struct dtype_traits<bf16> : detail::scalar_traits<bf16> {
  static constexpr std::string_view name = "bf16", safetensors_name = "BF16";
  static constexpr FloatFormat format{8, 7};
};
template <>
struct dtype_traits<f16> : detail::scalar_traits<f16> {
  static constexpr std::string_view name = "f16", safetensors_name = "F16";
  static constexpr FloatFormat format{5, 10};
};
template <>
struct dtype_traits<fp8_e4m3> : detail::scalar_traits<fp8_e4m3> {
  static constexpr std::string_view name = "fp8_e4m3", safetensors_name = "F8_E4M3";
  static constexpr FloatFormat format{4, 3, Specials::nan_only};
  using between_ops = bf16;
};
template <>
struct dtype_traits<fp8_e5m2> : detail::scalar_traits<fp8_e5m2> {
  static constexpr std::string_view name = "fp8_e5m2", safetensors_name = "F8_E5M2";
  static constexpr FloatFormat format{5, 2};
  using between_ops = bf16;
};

/// Types as a list.
template <class... Ts>
struct DtypeList {};
/// The scalar dtypes of Precast, widest first: the one list for code that covers all of them.
using ScalarDtypes = DtypeList<f32, tf32, bf16, f16, fp8_e4m3, fp8_e5m2>;

/// Calls `visitor.operator()<T>()` for each dtype until it returns true. Returns whether it did.
template <class Visitor, class... Ts>
constexpr bool any_dtype(DtypeList<Ts...>, Visitor&& visitor) {
  return (visitor.template operator()<Ts>() || ...);
}

/// Whether a dtype has codes for infinity.
template <ScalarDtype T>
inline constexpr bool has_infinity = dtype_traits<T>::format.specials == Specials::infinity_and_nan;

/// Whether safetensors files hold values of a dtype. They have no name for tf32, which is a format of
/// operands alone, nor for most block dtypes.
template <Dtype T>
inline constexpr bool in_files = requires {
  dtype_traits<T>::safetensors_name;
};

namespace detail {

template <class T>
using code_of = decltype(T::bits);

template <class T>
inline constexpr bool keeps_code = false;
template <class T>
  requires std::unsigned_integral<code_of<T>>
inline constexpr bool keeps_code<T> =
    std::numeric_limits<code_of<T>>::digits >= dtype_traits<T>::format.bits();
template <class T>
concept MadeOfCode = requires {
  typename std::bool_constant<(static_cast<void>(T{code_of<T>{}}), true)>;
};
/// Whether the type returns the last code unchanged: a bit-field narrower than its format does not.
template <MadeOfCode T>
consteval bool gives_back_codes() {
  constexpr FloatFormat format = dtype_traits<T>::format;
  constexpr std::uint32_t last = format.sign_code() | (format.sign_code() - 1);
  return T{static_cast<code_of<T>>(last)}.bits == last;
}

}  // namespace detail

namespace detail {

template <class T>
inline constexpr bool has_decode = requires(const T& block, int first, int count, f32* values) {
  { dtype_traits<T>::decode(block, first, count, values) } -> std::same_as<void>;
};

/// Whether a dtype is a scalar, or has more than one value in a block, or decodes its one value. Anything
/// else is a static_assert error: a scalar without its format looks like a block of one value.
template <Dtype T>
consteval bool declares_format() {
  constexpr bool declares = ScalarDtype<T> || dtype_traits<T>::values_per_block != 1 || has_decode<T>;
  static_assert(declares,
                "A dtype of one value needs static constexpr FloatFormat format in its dtype_traits, which "
                "makes it a scalar, or, as a block dtype, static void decode(const T& block, int first, int "
                "count, f32* values).");
  return declares;
}

}  // namespace detail

/// Whether all numbers of a dtype are numbers of f32: checked before anything is computed from a format
/// that may be too large for it.
template <ScalarDtype T>
inline constexpr bool is_within_f32 = [] {
  constexpr FloatFormat format = dtype_traits<T>::format;
  constexpr int least_mantissa = format.specials == Specials::infinity_and_nan ? 1 : 0;
  return std::same_as<T, f32> ||
         (format.exponent_bits >= 1 && format.exponent_bits <= 8 && format.mantissa_bits >= least_mantissa &&
          format.mantissa_bits <= 21 &&
          (format.exponent_bits < 8 || format.specials == Specials::infinity_and_nan));
}();

/// The format of a scalar dtype, which its type and its traits must agree on. A disagreement is a
/// static_assert error of one sentence.
template <ScalarDtype T>
consteval FloatFormat format_of() {
  constexpr FloatFormat format = dtype_traits<T>::format;
  if constexpr (!std::same_as<T, f32>) {
    static_assert(
        is_within_f32<T>,
        "A scalar dtype has numbers that f32 has too: 1 to 8 exponent bits, 0 to 21 mantissa bits, so "
        "that sums round once; with 8 exponent bits infinity and NaN, and with these a mantissa bit.");
    if constexpr (is_within_f32<T>) {
      static_assert(detail::keeps_code<T>,
                    "A scalar dtype keeps its code in a member `bits`, an unsigned integer that has room for "
                    "all bits of its format.");
      if constexpr (detail::keeps_code<T>) {
        static_assert(detail::MadeOfCode<T>,
                      "A scalar dtype T is made of its code, as T{bits}, in constant expressions.");
        static_assert(
            !detail::MadeOfCode<T> ||
                (std::is_trivially_copyable_v<T> && dtype_traits<T>::values_per_block == 1 &&
                 dtype_traits<T>::bytes_per_block == sizeof(T)),
            "A scalar dtype is one value as it lies in memory: values_per_block is 1, bytes_per_block its "
            "size, and it can be copied as bytes.");
        if constexpr (detail::MadeOfCode<T>)
          static_assert(detail::gives_back_codes<T>(),
                        "A scalar dtype keeps its code in a member `bits`, an unsigned integer that has room "
                        "for all bits of its format.");
      }
    }
  }
  return format;
}

/// A scalar as a double, exactly.
template <ScalarDtype T>
PRECAST_HOST_DEVICE_CONSTEXPR double to_double(T value) {
  if constexpr (std::same_as<T, f32>) {
    return static_cast<double>(value);
  } else {
    constexpr FloatFormat format = format_of<T>();
    return format.decode(value.bits);
  }
}

/// The nearest T to a double, ties to even, in one rounding.
template <ScalarDtype T>
PRECAST_HOST_DEVICE_CONSTEXPR T from_double(double value) {
  if constexpr (std::same_as<T, f32>) {
    return static_cast<f32>(value);
  } else {
    constexpr FloatFormat format = format_of<T>();
    return T{static_cast<detail::code_of<T>>(format.encode(value))};
  }
}

namespace detail {
/// Whether a format has a code for each inf and NaN that another has.
constexpr bool has_specials_of(FloatFormat to, FloatFormat from) {
  return from.specials == Specials::none || to.specials == Specials::infinity_and_nan ||
         to.specials == from.specials;
}
}  // namespace detail

/// Whether every value of From is a value of To, infinity and NaN included, so that a conversion never
/// rounds.
template <ScalarDtype To, ScalarDtype From>
inline constexpr bool widens_exactly =
    detail::has_specials_of(dtype_traits<To>::format, dtype_traits<From>::format) &&
    dtype_traits<To>::format.max() >= dtype_traits<From>::format.max() &&
    dtype_traits<To>::format.min_subnormal() <= dtype_traits<From>::format.min_subnormal() &&
    dtype_traits<To>::format.mantissa_bits >= dtype_traits<From>::format.mantissa_bits;

namespace detail {

/// Always inlined: a call for each value would prevent the vectorisation of loops.
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR bf16 nearest_bf16(f32 value) {
  const auto word = bit_cast<std::uint32_t>(value);
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1)) >> 16;
  return bf16{static_cast<std::uint16_t>(is_nan ? ((word >> 16) | 0x40u) : rounded)};
}

}  // namespace detail

/// The one conversion between scalar dtypes: nearest, ties to even, one rounding; NaN stays NaN. Written on
/// integers where speed matters, so that g++, clang++ and nvcc agree on every bit.
template <ScalarDtype To, ScalarDtype From>
PRECAST_HOST_DEVICE_CONSTEXPR To convert(From value) {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<From, bf16> && std::same_as<To, f32>) {
    return bit_cast<f32>(static_cast<std::uint32_t>(value.bits) << 16);
  } else if constexpr (std::same_as<From, f32> && std::same_as<To, bf16>) {
    return detail::nearest_bf16(value);
  } else if constexpr (std::same_as<From, tf32> && std::same_as<To, f32>) {
    return bit_cast<f32>(value.bits << 13);
  } else {
    return from_double<To>(to_double(value));
  }
}

}  // namespace precast
