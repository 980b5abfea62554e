// The conversion between scalar dtypes for loops and kernels: the same bits as convert<>, without branches,
// so that a host compiler vectorises it and a device does not diverge; and the rounding of an f32, or of a
// sum, to another dtype.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <precast/dtype/scalar.hpp>

namespace precast {

namespace detail {

/// Shift between a format's mantissa and f32's.
template <ScalarDtype T>
inline constexpr int mantissa_shift = 23 - format_of<T>().mantissa_bits;

/// a b, where a may be subnormal. nvcc would flush a plain product to zero under -ftz=true, which
/// -use_fast_math sets, and subnormal scales of blocks would be lost.
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR f32 product_with_subnormals(f32 a, f32 b) {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    f32 product;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
    return product;
  }
#endif
  return a * b;
}

/// A scalar that is not f32, as f32: the same bits as convert<f32>, without branches.
template <ScalarDtype From>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR f32 widen(From value) {
  if constexpr (std::same_as<From, bf16> || std::same_as<From, tf32>) {
    return convert<f32>(value);
  } else {
    constexpr FloatFormat format = format_of<From>();
    constexpr std::uint32_t magnitude_mask = format.sign_code() - 1;
    const std::uint32_t code = value.bits;
    const std::uint32_t magnitude = code & magnitude_mask;
    const std::uint32_t sign = (code & format.sign_code()) << (32 - format.bits());
    // Shifted into place the code is the number divided by 2^(127 - bias), subnormals too: one exact product.
    constexpr f32 rescale = static_cast<f32>(power_of_two(127 - format.bias()));
    std::uint32_t word = bit_cast<std::uint32_t>(
        product_with_subnormals(bit_cast<f32>(magnitude << mantissa_shift<From>), rescale));
    if constexpr (format.specials == Specials::infinity_and_nan) {
      word = select(magnitude >= format.infinity_code(), 0x7f800000u, word);
      word = select(magnitude > format.infinity_code(), 0x7fc00000u, word);
    } else if constexpr (format.specials == Specials::nan_only) {
      word = select(magnitude == magnitude_mask, 0x7fc00000u, word);
    }
    return bit_cast<f32>(word | sign);
  }
}

/// An f32 as another scalar: the same bits as convert<To>, without branches.
template <ScalarDtype To>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR To narrow(f32 value) {
  if constexpr (std::same_as<To, bf16>) {
    return nearest_bf16(value);
  } else {
    constexpr FloatFormat format = format_of<To>();
    constexpr int shift = mantissa_shift<To>;
    constexpr std::uint32_t first_normal = static_cast<std::uint32_t>(format.min_exponent() + 127) << 23;
    constexpr std::uint32_t exponent_offset = static_cast<std::uint32_t>(127 - format.bias()) << 23;
    constexpr std::uint32_t overflow =
        format.specials == Specials::infinity_and_nan ? format.infinity_code() : format.nan_code();
    // Adding 2^23 units of the smallest subnormal makes the adder itself round to that unit.
    constexpr f32 unit_sum =
        static_cast<f32>(power_of_two(format.min_exponent() - format.mantissa_bits + 23));
    const auto word = bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = word & 0x7fffffffu;
    const std::uint32_t sign = (word >> 31) * format.sign_code();
    const std::uint32_t rounding = (std::uint32_t{1} << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    const std::uint32_t normal = (magnitude - exponent_offset + rounding) >> shift;
    const std::uint32_t subnormal =
        bit_cast<std::uint32_t>(bit_cast<f32>(magnitude) + unit_sum) - bit_cast<std::uint32_t>(unit_sum);
    std::uint32_t code = select(magnitude < first_normal, subnormal, min_of(normal, overflow));
    code = select(magnitude > 0x7f800000u, format.nan_code(), code);
    return To{static_cast<code_of<To>>(code | sign)};
  }
}

/// The code that a saturating store keeps, given the code of a number: never infinity, nor the NaN that
/// stands for overflow in a format without infinity.
template <ScalarDtype T>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR T saturated(T stored) {
  constexpr FloatFormat format = format_of<T>();
  constexpr std::uint32_t sign = format.sign_code();
  if constexpr (std::same_as<T, f32>) {
    const auto code = bit_cast<std::uint32_t>(stored);
    return bit_cast<f32>((code & sign) | min_of(code & (sign - 1), format.max_code()));
  } else {
    const std::uint32_t code = stored.bits;
    return T{static_cast<code_of<T>>((code & sign) | min_of(code & (sign - 1), format.max_code()))};
  }
}

template <ScalarDtype T>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR bool is_nan(T value) {
  const f32 wide = [&] {
    if constexpr (std::same_as<T, f32>)
      return value;
    else
      return widen(value);
  }();
  return wide != wide;
}

}  // namespace detail

/// The same bits as `convert<To>(value)` for every value, without branches: what loops and kernels call. With
/// `Saturates`, values above the range of To, infinities too, become its largest number instead.
template <ScalarDtype To, bool Saturates = false, ScalarDtype From>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR To convert_value(From value) {
  if constexpr (Saturates) {
    const To stored = convert_value<To, false>(value);
    const To largest = detail::saturated(stored);
    return detail::is_nan(value) ? stored : largest;
  } else if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<To, f32>) {
    return detail::widen(value);
  } else if constexpr (std::same_as<From, f32>) {
    return detail::narrow<To>(value);
  } else if constexpr (std::same_as<From, tf32> || std::same_as<To, tf32>) {
    // tf32's codes are wider than 16 bits: through f32 a NaN would keep bits that convert<> drops.
    return convert<To>(value);
  } else {
    return detail::narrow<To>(detail::widen(value));
  }
}

/// x rounded to T, to nearest, ties to even, as f32.
template <ScalarDtype T>
PRECAST_HOST_DEVICE f32 rounded_to(f32 x) {
  if constexpr (std::is_same_v<T, f32>)
    return x;
  else
    return convert_value<f32>(convert_value<T>(x));
}

/// sum + addend, rounded once to T, as f32. `sum` is a T and `addend` any f32: the f32 sum is rounded to odd
/// (Boldo and Melquiond 2008), so that rounding it again to T is as good as rounding the real sum.
template <ScalarDtype T>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR f32 add_rounded(f32 sum, f32 addend) {
  const f32 nearest = sum + addend;
  const f32 of_addend = nearest - sum;
  const f32 rest = (sum - (nearest - of_addend)) + (addend - of_addend);
  const auto code = bit_cast<std::int32_t>(nearest);
  const bool finite = (code & 0x7fffffff) < 0x7f800000;
  const bool inexact = rest != 0 && finite;
  const std::int32_t step = ((rest > 0) == (nearest > 0)) ? 1 : -1;
  const f32 odd = bit_cast<f32>(inexact && (code & 1) == 0 ? code + step : code);
  return convert_value<f32, false>(convert_value<T, false>(odd));
}

}  // namespace precast
