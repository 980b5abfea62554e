// linear_input_gradient: y W, which carries the gradient of a linear layer's result back to its input.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/backend/transposed_weight.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/ops/weight_and_bias.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// The row of the op table for products with a transposed weight. Scalars keep their dtype; blocks, whose
/// values cannot be permuted, are stored as operands, to which products round them anyway.
template <class Types>
using transposed_types =
    with_storage<Types, std::conditional_t<ScalarDtype<typename Types::storage>, typename Types::storage,
                                           std::conditional_t<std::is_same_v<typename Types::operand, tf32>,
                                                              f32, typename Types::operand>>>;

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// A transposed copy of the weight of a linear layer, for products y W.
template <PolicyType P>
class TransposedWeight {
 public:
  using Types = detail::transposed_types<precisions<P, Matmul>>;

  explicit TransposedWeight(const LinearWeight<P>& weight)
      : weight_(backend::transposed<Types>(weight.weight())) {}

  std::int64_t out_features() const { return weight().columns(); }
  std::int64_t in_features() const { return weight().features(); }
  /// The packed weight. Throws Error where this has been moved from.
  const auto& weight() const {
    held_.require();
    return weight_;
  }
  std::int64_t bytes() const { return held_ ? weight_.bytes() : 0; }

 private:
  backend::PackedWeight<typename Types::storage> weight_;
  detail::HoldsValues held_;
};

/// out = y W for y [..., out_features], the gradient of a layer's result: out [..., in_features]. Operands,
/// sums and results are rounded as linear's. `out` may be strided; it must not overlap y. Throws ShapeError
/// where shapes do not fit.
template <PolicyType P, ScalarArray Y>
void linear_input_gradient_into(const Y& y, const TransposedWeight<P>& weight, ResultOf<P, Matmul> out,
                                const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto in = as_view(y);
  if (in.columns() != weight.out_features())
    throw ShapeError("linear_input_gradient: " + to_string(in.shape()) + " does not have the " +
                     std::to_string(weight.out_features()) + " columns that the layer makes");
  detail::require_same_shape("linear_input_gradient", in.shape().with_back(weight.in_features()),
                             result.shape());
  detail::require_apart("linear_input_gradient", result, in);
  detail::run_op_into<Matmul, precisions<P, Matmul>>(
      "linear_input_gradient", result, [&]<class Types>(Types, auto to) {
        using Stored = typename TransposedWeight<P>::Types::storage;
        backend::matmul_transposed<with_storage<Types, Stored>>(in, weight.weight(), Epilogue{}, to);
      });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray Y>
auto linear_input_gradient(const Y& y, const TransposedWeight<P>& weight,
                           const Context& context = current_context()) {
  return detail::into_new<P, Matmul>(y.shape().with_back(weight.in_features()), context,
                                     [&](auto out) { linear_input_gradient_into<P>(y, weight, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
