// The narrowest dtype that multiplies two matrices as exactly as a policy asks.
#pragma once

#include <type_traits>

#include <precast/dtype/dtype.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

namespace detail {

/// Whether Candidate is bf16 or f16, whose products are exact in f32, holds all Values and fits in Operand.
template <ScalarDtype Operand, Dtype Candidate, Dtype... Values>
inline constexpr bool multiplies_exactly = [] {
  if constexpr ((std::is_same_v<Candidate, bf16> ||
                 std::is_same_v<Candidate, f16>)&&(ScalarDtype<Values> && ...))
    return widens_exactly<Operand, Candidate> && (widens_exactly<Candidate, Values> && ...);
  return false;
}();

}  // namespace detail

/// The dtype in which values of A and B are multiplied where a policy says Operand: A or B, if that is bf16
/// or f16, holds the values of both and fits in Operand. Widening first would change no product, since each
/// is exact in f32, and tensor cores multiply 16 bits at ten times the rate of f32.
template <ScalarDtype Operand, Dtype A, Dtype B>
using ExactOperand =
    std::conditional_t<detail::multiplies_exactly<Operand, A, A, B>, A,
                       std::conditional_t<detail::multiplies_exactly<Operand, B, A, B>, B, Operand>>;

}  // namespace precast
