// The training rows of the op table: the one function from a policy and an op class to dtypes of gradients.
#pragma once

#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

/// The dtypes that training adds to those of a policy.
template <ScalarDtype GradientType, ScalarDtype ParameterGradientType, ScalarDtype MasterType>
struct TrainingDtypes {
  using gradient = GradientType;                     ///< gradients of results between ops
  using parameter_gradient = ParameterGradientType;  ///< gradients of parameters, summed over a batch
  using master = MasterType;                         ///< the parameters that an optimiser updates
};

namespace detail {

/// The operand dtype of a gradient's products: the op's, or, where that has a narrower range than f16
/// (fp8_e4m3), its default Activation, since gradients are small.
template <class Operand>
struct gradient_operand_of {
  using type = Operand;
};
template <ScalarDtype Operand>
  requires(dtype_traits<Operand>::format.exponent_bits < dtype_traits<f16>::format.exponent_bits)
struct gradient_operand_of<Operand> {
  using type = activation_for<Operand>;
};
static_assert(dtype_traits<fp8_e4m3>::format.exponent_bits < dtype_traits<f16>::format.exponent_bits &&
              dtype_traits<fp8_e5m2>::format.exponent_bits == dtype_traits<f16>::format.exponent_bits);

template <class P>
consteval auto training_of() {
  using S = vector_storage_for<typename P::storage>;
  // Sums over a batch are reductions: Downcast<Reduction> keeps parameter gradients and masters narrow.
  constexpr bool narrow = P::template downcasts<Reduction>;
  using Summed = std::conditional_t<narrow, activation_for<typename P::compute>, f32>;
  return TrainingDtypes<typename P::activation, Summed, std::conditional_t<narrow, S, f32>>{};
}

template <class Row, class Result>
using gradient_row =
    OpDtypes<typename Row::storage, typename gradient_operand_of<typename Row::operand>::type,
             typename Row::accumulate, typename Row::inside, Result, Row::saturate>;

// The class in between is for nvcc, as in op_table.hpp.
template <PolicyType P>
struct Training {
  using type = decltype(training_of<P>());
};

}  // namespace detail

/// The dtypes of training under a policy: gradients between ops are stored in its Activation; gradients of
/// parameters, and the parameters that an optimiser updates, are f32. With Downcast<Reduction> (naive f16)
/// gradients of parameters are in Compute, and the stored parameters themselves are updated.
template <PolicyType P>
using training = typename detail::Training<P>::type;

/// The row for the gradients of an op's inputs: operand (bf16 instead of fp8_e4m3), accumulate and inside
/// are the op's, and the result is stored as activations are.
template <PolicyType P, OpClass Op>
using gradient_precisions = detail::gradient_row<precisions<P, Op>, typename training<P>::gradient>;

/// The row for the gradients of an op's parameters.
template <PolicyType P, OpClass Op>
using parameter_gradient_precisions =
    detail::gradient_row<precisions<P, Op>, typename training<P>::parameter_gradient>;

}  // namespace precast
