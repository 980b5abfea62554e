// What attention multiplies: the dtype that values are rounded to, and the one that holds them in shared
// memory and in the multiplier.
#pragma once

#include <type_traits>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>

namespace precast::cuda::detail {

/// What the multiplier takes for an operand dtype. fp8 values and their products are exact as f16 and f32,
/// and so fp8 needs no kernel of its own, nor a GPU whose tensor cores know it.
template <class Operand>
using Multiplied =
    std::conditional_t<std::is_same_v<Operand, fp8_e4m3> || std::is_same_v<Operand, fp8_e5m2>, f16, Operand>;

/// What holds it in shared memory: tf32 has an f32's place.
template <class Operand>
using ElementOf = std::conditional_t<std::is_same_v<Operand, tf32>, f32, Multiplied<Operand>>;

/// A value rounded to the operand dtype, as an Element, which holds all of that dtype's values.
template <class Operand, class Element = ElementOf<Operand>, class From>
PRECAST_DEVICE Element as_element(From value) {
  if constexpr (std::is_same_v<From, Operand> && std::is_same_v<Element, Operand>)
    return value;
  else if constexpr (std::is_same_v<Element, f32>)
    return rounded<Operand>(to_f32(value));
  else if constexpr (std::is_same_v<Element, Operand>)
    return round_to<Operand>(to_f32(value));
  else
    return round_to<Element>(rounded<Operand>(to_f32(value)));
}

/// Two f32 values rounded to a 16-bit or 8-bit operand dtype: a word of a fragment.
template <class Operand>
PRECAST_DEVICE std::uint32_t operand_pair(f32 low, f32 high) {
  if constexpr (std::is_same_v<Operand, Multiplied<Operand>>)
    return round_pair<Operand>(low, high);
  else
    return pack_pair(as_element<Operand>(low), as_element<Operand>(high));
}

}  // namespace precast::cuda::detail
