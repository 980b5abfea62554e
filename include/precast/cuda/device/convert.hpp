// Rounding in registers: what convert_value<> does, by one instruction where the device has one. A NaN stays
// one, with the bits that this instruction gives it.
#pragma once

#include <bit>
#include <cstdint>

#include <precast/cuda/device/side.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

namespace detail {

/// The 16 bits of a bf16 or f16, rounded by the device's own instruction (PTX cvt.rn).
template <ScalarDtype To>
PRECAST_DEVICE To round_16_bits([[maybe_unused]] f32 value) {
#if PRECAST_ON_DEVICE
  To result;
  static_assert(std::is_same_v<To, bf16> || std::is_same_v<To, f16>);
  if constexpr (std::is_same_v<To, bf16>)
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
#else
  return convert_value<To>(value);
#endif
}

}  // namespace detail

/// A scalar as f32, exactly.
template <ScalarDtype From>
PRECAST_DEVICE f32 to_f32(From value) {
#if PRECAST_ON_DEVICE
  if constexpr (std::is_same_v<From, f16>) {
    f32 result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return result;
  } else
#endif
    return convert_value<f32>(value);
}

/// An f32 rounded to a scalar, to nearest, ties to even; `Saturates` clamps to the largest number.
template <ScalarDtype To, bool Saturates = false>
PRECAST_DEVICE To round_to(f32 value) {
  if constexpr ((std::is_same_v<To, bf16> || std::is_same_v<To, f16>)&&!Saturates)
    return detail::round_16_bits<To>(value);
  else
    return convert_value<To, Saturates>(value);
}

/// Two values of a 16-bit dtype in a word, the first in its low half: a fragment's word.
template <ScalarDtype T>
PRECAST_DEVICE std::uint32_t pack_pair(T low, T high) {
  static_assert(sizeof(T) == 2, "pack_pair: two 16-bit values make a word.");
  return static_cast<std::uint32_t>(low.bits) | static_cast<std::uint32_t>(high.bits) << 16;
}

/// Two f32 rounded to a 16-bit dtype and packed.
template <ScalarDtype T>
PRECAST_DEVICE std::uint32_t round_pair(f32 low, f32 high) {
  static_assert(std::is_same_v<T, bf16> || std::is_same_v<T, f16>);
#if PRECAST_ON_DEVICE
  std::uint32_t word;
  if constexpr (std::is_same_v<T, bf16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
#else
  return pack_pair(round_to<T>(low), round_to<T>(high));
#endif
}

/// The values of such a word, as f32.
template <ScalarDtype T>
PRECAST_DEVICE f32 low_in_f32(std::uint32_t pair) {
  return to_f32(bit_cast<T>(static_cast<std::uint16_t>(pair)));
}
template <ScalarDtype T>
PRECAST_DEVICE f32 high_in_f32(std::uint32_t pair) {
  return to_f32(bit_cast<T>(static_cast<std::uint16_t>(pair >> 16)));
}

/// An f32 truncated to eight significant bits, which are a bf16. The remainder is an f32, exactly.
PRECAST_DEVICE f32 truncated_to_bf16(f32 value) {
  return bit_cast<f32>(bit_cast<std::uint32_t>(value) & 0xffff0000u);
}

/// An f32 rounded to T and widened again: the value that a store in T keeps.
template <ScalarDtype T, bool Saturates = false>
PRECAST_DEVICE f32 rounded(f32 value) {
  if constexpr (std::is_same_v<T, f32> && !Saturates)
    return value;
  else if constexpr ((std::is_same_v<T, bf16> || std::is_same_v<T, f16>)&&!Saturates)
    return low_in_f32<T>(round_pair<T>(value, 0.0f));  // at four times the rate of one value's conversion
  else
    return to_f32(round_to<T, Saturates>(value));
}

/// Returns `value`, which is then rounded to a dtype of the kernel's row. In the emulator a test may switch
/// the fault on: the result then has three significant bits, as if a kernel ignored its row for fp8_e5m2.
template <FaultName Name>
PRECAST_DEVICE f32 with_planted_dtype(f32 value) {
#if PRECAST_ON_DEVICE
  return value;
#else
  return planted<Name>(false, true) ? rounded<fp8_e5m2>(value) : value;
#endif
}

/// The word of a tf32 fragment: an f32 rounded to tf32, in an f32's place. The same bits as convert<tf32>.
/// f32 and tf32 have the same exponents: rounding is one addition for normal and subnormal numbers alike.
PRECAST_DEVICE std::uint32_t tf32_word(f32 value) {
  const auto word = bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (word + 0xfffu + ((word >> 13) & 1)) & 0xffffe000u;
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  return is_nan ? (word & 0x80000000u) | 0x7fc00000u : rounded;
}

}  // namespace precast::gpu
