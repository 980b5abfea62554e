// The training rows of the op table: the one function from a policy and an op class to dtypes of gradients.
#pragma once

#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

/// The dtypes that training adds to those of a policy.
template <ScalarDtype GradientType, ScalarDtype ParameterGradientType, ScalarDtype MasterType,
          ScalarDtype ProductType, ScalarDtype ParameterProductType>
struct TrainingDtypes {
  using gradient = GradientType;                     ///< gradients of results between ops
  using parameter_gradient = ParameterGradientType;  ///< gradients of parameters, summed over a batch
  using master = MasterType;                         ///< the parameters that an optimiser updates
  using product = ProductType;  ///< what linear layers round results and gradients of inputs to
  using parameter_product = ParameterProductType;  ///< what they round gradients of parameters to
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
  using R = typename P::activation;
  // Sums over a batch are reductions: Downcast<Reduction> keeps parameter gradients and masters narrow.
  constexpr bool narrow = P::template downcasts<Reduction>;
  using Summed = std::conditional_t<narrow, activation_for<typename P::compute>, f32>;
  using Operand = typename precisions<P, Matmul>::operand;
  using Product = activation_for<Operand>;
  using ParameterProduct = activation_for<typename gradient_operand_of<Operand>::type>;
  constexpr bool overflows =
      dtype_traits<Product>::format.exponent_bits < dtype_traits<R>::format.exponent_bits;
  return TrainingDtypes<
      R, Summed, std::conditional_t<narrow, S, f32>, std::conditional_t<overflows, Product, R>,
      std::conditional_t<widens_exactly<Summed, ParameterProduct>, ParameterProduct, Summed>>{};
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
///
/// Linear layers round what they store as autocast does, which casts input and parameters to the operand
/// dtype, so that results and gradients leave a product in it. Results and gradients of inputs are rounded
/// only where the operands' range is narrower than Activation's (f16 in f32): larger values become inf for
/// any loss scale, and smaller gradients 0.
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
