// Gradients of matmul: c = a b for a [..., M, K] and b [K, N]. For matmul_transposed, c = a b^T, they are
// linear_input_gradient_into for a and linear_weight_gradient_into for b.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/product_gradient.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/problem/context.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The gradient of a: dc b^T for dc [..., M, N] and b [K, N]: [..., M, K]; `out` must not overlap them.
/// Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray DC, ScalarArray B>
void matmul_left_gradient_into(const DC& dc, const B& b, GradientOf<P> out,
                               const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto left = as_view(dc);
  const auto right = as_view(b);
  if (right.shape().rank() != 2 || left.columns() != right.columns() || left.columns() == 0)
    detail::shapes_do_not_fit("matmul_left_gradient", left.shape(), right.shape(),
                              "are not [..., M, N] and [K, N] with an N of 1 or more");
  detail::require_same_shape("matmul_left_gradient", left.shape().with_back(right.rows()), result.shape());
  detail::require_apart("matmul_left_gradient", result, left, right);
  detail::run_gradients_into<Matmul, gradient_precisions<P, Matmul>>(
      "matmul_left_gradient",
      [&]<class Types>(Types, auto to) {
        backend::matmul_transposed<with_storage<Types, value_type_of<B>>>(left, right, Epilogue{}, to);
      },
      result);
}

/// The gradient of b: a^T dc, summed over all rows of a [..., M, K] and dc [..., M, N]: [K, N]. Stored as
/// gradients between ops are; `out` must not overlap an operand. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray A, ScalarArray DC>
void matmul_right_gradient_into(const A& a, const DC& dc, GradientOf<P> out,
                                const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto left = as_view(a);
  const auto right = as_view(dc);
  detail::require_as_many_rows("matmul_right_gradient", left.shape(), right.shape());
  detail::require_same_shape("matmul_right_gradient", Shape{left.columns(), right.columns()}, result.shape());
  detail::require_apart("matmul_right_gradient", result, left, right);
  if (result.elements() == 0) return;
  detail::run_gradients_into<Matmul, gradient_precisions<P, Matmul>>(
      "matmul_right_gradient",
      [&]<class Types>(Types, auto to) {
        backend::multiply_over_rows<with_storage<Types, value_type_of<DC>>>(left, right, GradientOptions{},
                                                                            to);
      },
      result);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
