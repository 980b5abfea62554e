// The op table's rows of training: the one function from a policy and an op class to the dtypes of gradients.
#pragma once

#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

/// What training keeps beside the parameters that a policy stores.
template <ScalarDtype GradientType, ScalarDtype ParameterGradientType, ScalarDtype MasterType>
struct TrainingDtypes {
  using gradient = GradientType;                     ///< of results between ops
  using parameter_gradient = ParameterGradientType;  ///< of parameters, summed over a batch
  using master = MasterType;                         ///< the parameters that an optimiser changes
};

namespace detail {

/// The operands of a gradient's products: those of the op, or, where their range is narrower than f16's
/// (fp8_e4m3), what Compute leaves between ops, since gradients are small.
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
  // Sums over a batch are a reduction: a policy that keeps those narrow keeps what is made of them narrow.
  constexpr bool narrow = P::template downcasts<Reduction>;
  using Summed = std::conditional_t<narrow, activation_for<typename P::compute>, f32>;
  return TrainingDtypes<typename P::activation, Summed, std::conditional_t<narrow, S, f32>>{};
}

template <class Row, class Result>
using gradient_row =
    OpDtypes<typename Row::storage, typename gradient_operand_of<typename Row::operand>::type,
             typename Row::accumulate, typename Row::inside, Result, Row::saturate>;

// A class between the two, as for the rows of ops.
template <PolicyType P>
struct Training {
  using type = decltype(training_of<P>());
};

}  // namespace detail

/// Gradients of a policy: those between ops are stored in its Activation; those of parameters, and the
/// parameters that an optimiser changes, are f32. With Downcast<Reduction> (naive f16) gradients of
/// parameters are in Compute, and parameters are changed as they are stored.
template <PolicyType P>
using training = typename detail::Training<P>::type;

/// The row for the gradient of an op's inputs: operands, sums and what is kept between steps are the op's,
/// the result is stored as activations are. Operands of fp8_e4m3 become bf16.
template <PolicyType P, OpClass Op>
using gradient_precisions = detail::gradient_row<precisions<P, Op>, typename training<P>::gradient>;

/// The row for the gradient of an op's parameters.
template <PolicyType P, OpClass Op>
using parameter_gradient_precisions =
    detail::gradient_row<precisions<P, Op>, typename training<P>::parameter_gradient>;

}  // namespace precast
