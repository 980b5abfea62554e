// Linear layers in training: products with a weight that is read in place, because it changes at each step,
// and the gradients of input, weight and bias. linear_input_gradient.hpp has the input gradient for a
// constant weight. Results and gradients are rounded as autocast's, to the `product` and the
// `parameter_product` of training<P>.
#pragma once

#include <cstddef>
#include <string_view>
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

namespace detail {

inline namespace PRECAST_BACKEND {

/// Rounds what a kernel of a policy's row stored to one of training's dtypes; not what the watch hook
/// computes again in f32.
template <class Row, class Rounded, class Types, class T>
void round_product(Types, View<T> out) {
  if constexpr (std::is_same_v<Types, Row> && !std::is_same_v<Rounded, T>)
    backend::round_in_place<Rounded, Types::saturate>(out);
}

/// The sum of as many rows of dy as there are for each of `out`.
template <PolicyType P, class Rounded, ScalarArray DY>
void sum_rows_into(std::string_view name, const DY& dy, const GradientOptions& options,
                   View<typename training<P>::parameter_gradient> out) {
  require_apart(name, out, as_view(dy));
  using Row = parameter_gradient_precisions<P, Reduction>;
  run_gradients_into<Reduction, Row>(
      name,
      [&]<class Types>(Types types, auto to) {
        backend::sum_of_rows<Types>(as_view(dy), options, to);
        if (!options.accumulate) round_product<Row, Rounded>(types, to);
      },
      out);
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// out = x w^T + bias for x [..., in_features], w [out_features, in_features] and bias [out_features], or
/// an empty one. Operands are rounded as linear()'s, for any dtypes of w and bias: f32 master weights are
/// rounded to operands here only. Results are rounded to training<P>::product. Throws ShapeError where shapes
/// do not fit, or `out` overlaps an operand.
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
  using Row = precisions<P, Matmul>;
  detail::run_op_into<Matmul, Row>("linear", result, [&]<class Types>(Types types, auto to) {
    backend::matmul_transposed<with_storage<Types, value_type_of<W>>>(in, matrix, epilogue, to);
    detail::round_product<Row, typename training<P>::product>(types, to);
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
/// Matmul> says, results to training<P>::product. `out` must not overlap them. Throws ShapeError where shapes
/// do not fit.
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
  using Row = gradient_precisions<P, Matmul>;
  detail::run_gradients_into<Matmul, Row>(
      "linear_input_gradient",
      [&]<class Types>(Types types, auto to) {
        backend::multiply<with_storage<Types, value_type_of<W>>>(left, right, to);
        detail::round_product<Row, typename training<P>::product>(types, to);
      },
      result);
}

/// The gradient of a linear layer's weight: dy^T x for dy [..., out_features] and x [..., in_features], the
/// sum over all rows: [out_features, in_features], or added to what `out` holds. Operands and sums have the
/// dtypes of gradient_precisions<P, Matmul>. The gradient is rounded to training<P>::parameter_product, but
/// not where it is added: autocast rounds it then, too (docs/train.md). `out` must not overlap them. Throws
/// ShapeError where shapes do not fit.
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
  using Row = parameter_gradient_precisions<P, Matmul>;
  detail::run_gradients_into<Matmul, Row>(
      "linear_weight_gradient",
      [&]<class Types>(Types types, auto to) {
        backend::multiply_over_rows<with_storage<Types, value_type_of<X>>>(left, right, options, to);
        if (!options.accumulate)
          detail::round_product<Row, typename training<P>::parameter_product>(types, to);
      },
      result);
}

/// The gradient of a linear layer's bias: the sum of the rows of dy [..., C], into `out` [C] and rounded to
/// `parameter_product`, or added to what it holds and not rounded. Bits are the same for any thread count.
/// `out` must not overlap dy. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray DY>
void bias_gradient_into(const DY& dy, const GradientOptions& options, ParameterGradientOf<P> out,
                        const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  if (result.shape() != Shape{as_view(dy).columns()})
    detail::shapes_do_not_fit("bias_gradient", dy.shape(), result.shape(), "are not [..., C] and [C]");
  detail::sum_rows_into<P, typename training<P>::parameter_product>("bias_gradient", dy, options, result);
}

/// The gradient of an operand that add() broadcasts, of any suffix of dy's shape: dy [B, S, C] is summed into
/// `out` [S, C] or [C], or added to what it holds. Not rounded further, as autocast adds in f32; else as
/// bias_gradient_into.
template <PolicyType P, ScalarArray DY>
void broadcast_gradient_into(const DY& dy, const GradientOptions& options, ParameterGradientOf<P> out,
                             const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const Shape &all = dy.shape(), &one = result.shape();
  bool fits = one.rank() > 0 && one.rank() <= all.rank();
  for (std::size_t i = 0; fits && i < one.rank(); ++i) fits = one[i] == all[all.rank() - one.rank() + i];
  if (!fits)
    detail::shapes_do_not_fit("broadcast_gradient", all, one,
                              "do not fit: the second is the end of the first");
  detail::sum_rows_into<P, typename training<P>::parameter_gradient>("broadcast_gradient", dy, options,
                                                                     result);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
