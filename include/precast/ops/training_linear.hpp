// Linear layers in training: products with a weight that is read in place, because it changes at each step,
// and the gradients of input, weight and bias. linear_input_gradient.hpp has the input gradient for a
// constant weight.
#pragma once

#include <cstddef>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/backend/convert.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/backend/product_gradient.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/epilogue.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// out = x w^T + bias for x [..., in_features], w [out_features, in_features] and bias [out_features], or
/// an empty one. Rounds as linear() does, for any dtypes of w and bias: f32 master weights are rounded to
/// operands here only. Throws ShapeError where shapes do not fit, or `out` overlaps an operand.
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B>
void linear_into(const X& x, const W& weight, const B& bias, ResultOf<P, Matmul> out,
                 const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto in = as_view(x);
  const auto matrix = as_view(weight);
  const auto vector = as_view(bias);
  if (matrix.shape().rank() != 2 || in.columns() != matrix.columns() || in.columns() == 0)
    detail::shapes_do_not_fit("linear", in.shape(), matrix.shape(),
                              "are not [..., in] and a weight [out, in] with an `in` of 1 or more");
  if (vector.elements() != 0 && vector.shape() != Shape{matrix.rows()})
    detail::shapes_do_not_fit("linear", matrix.shape(), vector.shape(), "are not a weight and its bias");
  detail::require_same_shape("linear", in.shape().with_back(matrix.rows()), result.shape());
  detail::require_apart("linear", result, in, matrix, vector);
  Tensor<f32> widened;
  Epilogue epilogue{};
  if (vector.elements() != 0) {
    if constexpr (std::is_same_v<value_type_of<B>, f32>) {
      epilogue.bias = vector;
    } else {
      widened = Tensor<f32>(vector.shape());
      backend::convert_values<f32>(vector, widened.view());
      epilogue.bias = widened.view();
    }
  }
  detail::run_op_into<Matmul, precisions<P, Matmul>>("linear", result, [&]<class Types>(Types, auto to) {
    backend::matmul_transposed<with_storage<Types, value_type_of<W>>>(in, matrix, epilogue, to);
  });
}
/// The same without a bias.
template <PolicyType P, ScalarArray X, ScalarArray W>
void linear_into(const X& x, const W& weight, ResultOf<P, Matmul> out,
                 const Context& context = current_context()) {
  linear_into<P>(x, weight, View<const f32>(), out, context);
}

/// The gradient of a linear layer's input: dy w for dy [..., out_features], the gradient of its result, and
/// w [out_features, in_features]: [..., in_features]. Operands are rounded as gradient_precisions<P,
/// Matmul> says, results once. `out` must not overlap them. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray DY, ScalarArray W>
void linear_input_gradient_into(const DY& dy, const W& weight, GradientOf<P> out,
                                const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto left = as_view(dy);
  const auto right = as_view(weight);
  if (right.shape().rank() != 2 || left.columns() != right.rows() || left.columns() == 0)
    detail::shapes_do_not_fit("linear_input_gradient", left.shape(), right.shape(),
                              "are not [..., out] and a weight [out, in] with an `out` of 1 or more");
  detail::require_same_shape("linear_input_gradient", left.shape().with_back(right.columns()),
                             result.shape());
  detail::require_apart("linear_input_gradient", result, left, right);
  detail::run_gradients_into<Matmul, gradient_precisions<P, Matmul>>(
      "linear_input_gradient",
      [&]<class Types>(Types, auto to) {
        backend::multiply<with_storage<Types, value_type_of<W>>>(left, right, to);
      },
      result);
}

/// The gradient of a linear layer's weight: dy^T x for dy [..., out_features] and x [..., in_features], the
/// sum over all rows: [out_features, in_features], or added to what `out` holds. Operands and sums have the
/// dtypes of gradient_precisions<P, Matmul>. `out` must not overlap them. Throws ShapeError where shapes do
/// not fit.
template <PolicyType P, ScalarArray DY, ScalarArray X>
void linear_weight_gradient_into(const DY& dy, const X& x, const GradientOptions& options,
                                 ParameterGradientOf<P> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto left = as_view(dy);
  const auto right = as_view(x);
  detail::require_as_many_rows("linear_weight_gradient", left.shape(), right.shape());
  detail::require_same_shape("linear_weight_gradient", Shape{left.columns(), right.columns()},
                             result.shape());
  detail::require_apart("linear_weight_gradient", result, left, right);
  if (result.elements() == 0) return;
  detail::run_gradients_into<Matmul, parameter_gradient_precisions<P, Matmul>>(
      "linear_weight_gradient",
      [&]<class Types>(Types, auto to) {
        backend::multiply_over_rows<with_storage<Types, value_type_of<X>>>(left, right, options, to);
      },
      result);
}

/// The gradient of a bias: the sum of the rows of dy [..., C], into `out` [C]; or of an operand that add()
/// broadcasts, of any suffix of dy's shape: dy [B, S, C] into [S, C]. Or added to what `out` holds. Bits
/// are the same for any thread count. `out` must not overlap dy. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray DY>
void bias_gradient_into(const DY& dy, const GradientOptions& options, ParameterGradientOf<P> out,
                        const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const Shape &all = dy.shape(), &one = result.shape();
  bool fits = one.rank() > 0 && one.rank() <= all.rank();
  for (std::size_t i = 0; fits && i < one.rank(); ++i) fits = one[i] == all[all.rank() - one.rank() + i];
  if (!fits)
    detail::shapes_do_not_fit("bias_gradient", all, one, "do not fit: the second is the end of the first");
  detail::require_apart("bias_gradient", result, as_view(dy));
  detail::run_gradients_into<Reduction, parameter_gradient_precisions<P, Reduction>>(
      "bias_gradient",
      [&]<class Types>(Types, auto to) { backend::sum_of_rows<Types>(as_view(dy), options, to); }, result);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
