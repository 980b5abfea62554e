// Operands: values as a product takes them, rounded to the policy's format and held in a dtype that is
// multiplied here.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/convert.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

/// The dtype that our kernels multiply: the first of f16, bf16, tf32 and f32 that holds all of an operand's
/// values. Every architecture from sm_80 on multiplies these, f32 by fused multiply-add. fp8 thus widens to
/// f16, whose sums are f32, without the shorter accumulator of fp8 instructions.
template <ScalarDtype Operand>
using MultipliedDtype =
    std::conditional_t<widens_exactly<f16, Operand>, f16,
                       std::conditional_t<widens_exactly<bf16, Operand>, bf16,
                                          std::conditional_t<widens_exactly<tf32, Operand>, tf32, f32>>>;

/// The dtype that holds a multiplied value in memory: f32 for tf32, else MultipliedDtype.
template <ScalarDtype Operand>
using HeldDtype =
    std::conditional_t<std::is_same_v<MultipliedDtype<Operand>, tf32>, f32, MultipliedDtype<Operand>>;

/// Whether values of From are operands as stored, without conversion.
template <ScalarDtype Operand, Dtype From>
inline constexpr bool are_operands = [] {
  if constexpr (std::is_same_v<From, HeldDtype<Operand>>) return widens_exactly<Operand, From>;
  return false;
}();

/// A value rounded to Operand, in a dtype that holds all of Operand's values; saturating policies clamp here
/// as they do at every other rounding.
template <ScalarDtype Operand, bool Saturates, ScalarDtype Held = HeldDtype<Operand>, ScalarDtype From>
PRECAST_DEVICE Held operand_value(From value) {
  if constexpr (std::is_same_v<From, Held> && widens_exactly<Operand, From>) {
    return value;
  } else {
    const f32 wide = with_planted_dtype<"operand ignored">(to_f32(value));
    if constexpr (widens_exactly<Operand, From>)
      return round_to<Held>(wide);
    else if constexpr (std::is_same_v<Operand, tf32> && !Saturates)
      return bit_cast<f32>(tf32_word(wide));
    else if constexpr (std::is_same_v<Operand, Held>)
      return round_to<Operand, Saturates>(wide);
    else
      return round_to<Held>(to_f32(round_to<Operand, Saturates>(wide)));
  }
}

/// The same as f32, for products by fused multiply-add.
template <ScalarDtype Operand, bool Saturates, ScalarDtype From>
PRECAST_DEVICE f32 operand_in_f32(From value) {
  if constexpr (std::is_same_v<From, f32> && std::is_same_v<Operand, HeldDtype<Operand>>)
    return rounded<Operand, Saturates>(with_planted_dtype<"operand ignored">(value));
  else
    return to_f32(operand_value<Operand, Saturates>(value));
}

/// Two f32 values rounded to an operand dtype that is multiplied in 16 bits: a word of a fragment.
template <ScalarDtype Operand, bool Saturates = false>
PRECAST_DEVICE std::uint32_t operand_pair(f32 low, f32 high) {
  if constexpr (std::is_same_v<Operand, MultipliedDtype<Operand>> && !Saturates)
    return round_pair<Operand>(with_planted_dtype<"operand ignored">(low),
                               with_planted_dtype<"operand ignored">(high));
  else
    return pack_pair(operand_value<Operand, Saturates>(low), operand_value<Operand, Saturates>(high));
}

/// f32 values as operand_in_f32 makes each of them, by pairs where the device rounds two at once.
template <ScalarDtype Operand, bool Saturates, int Count>
PRECAST_DEVICE void round_operands(f32 (&values)[Count]) {
  constexpr bool in_pairs = Count % 2 == 0 && !Saturates && sizeof(Operand) == 2 &&
                            std::is_same_v<Operand, MultipliedDtype<Operand>>;
  if constexpr (in_pairs) {
    PRECAST_UNROLL
    for (int i = 0; i < Count; i += 2) {
      const std::uint32_t pair = operand_pair<Operand>(values[i], values[i + 1]);
      values[i] = low_in_f32<Operand>(pair);
      values[i + 1] = high_in_f32<Operand>(pair);
    }
  } else {
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) values[i] = operand_in_f32<Operand, Saturates>(values[i]);
  }
}

}  // namespace precast::gpu
