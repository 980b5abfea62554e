// matmul: products of two tensors that are both results of ops. For weights, linear() is the op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError unless a and b have as many rows, which a sum over rows multiplies pair by pair.
inline void require_as_many_rows(std::string_view op, const Shape& a, const Shape& b) {
  const auto rows = [](const Shape& shape) {
    std::int64_t count = 1;  // that of rows without a value too, which a view cannot count
    for (std::size_t i = 0; i + 1 < shape.rank(); ++i) count *= shape[i];
    return count;
  };
  if (rows(a) != rows(b)) shapes_do_not_fit(op, a, b, "do not have as many rows");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// a b^T for a [..., M, K] and b [N, K]: [..., M, N]. Operands are rounded to the policy's operand dtype,
/// sums kept in its accumulate dtype, results rounded once. The host reads b in place for up to 4 rows of a
/// that are summed in f32, else packs it; linear() packs its weight once. Throws ShapeError where shapes do
/// not fit, K is 0, or `out` overlaps an operand.
template <PolicyType P, ScalarArray A, ScalarArray B>
void matmul_transposed_into(const A& a, const B& b, ResultOf<P, Matmul> out,
                            const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto left = as_view(a);
  const auto right = as_view(b);
  if (right.shape().rank() != 2 || left.columns() != right.columns() || left.columns() == 0)
    detail::shapes_do_not_fit("matmul_transposed", left.shape(), right.shape(),
                              "are not [..., M, K] and [N, K] with a K of 1 or more");
  detail::require_same_shape("matmul_transposed", left.shape().with_back(right.rows()), result.shape());
  detail::require_apart("matmul_transposed", result, left, right);
  detail::run_op_into<Matmul, precisions<P, Matmul>>("matmul", result, [&]<class Types>(Types, auto to) {
    backend::matmul_transposed<with_storage<Types, value_type_of<B>>>(left, right, Epilogue{}, to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray A, ScalarArray B>
auto matmul_transposed(const A& a, const B& b, const Context& context = current_context()) {
  return detail::into_new<P, Matmul>(a.shape().with_back(b.shape()[0]), context,
                                     [&](auto out) { matmul_transposed_into<P>(a, b, out); });
}

/// a b for a [..., M, K] and b [K, N]: [..., M, N], rounded as matmul_transposed with b transposed. The host
/// reads b in place for up to 4 rows of a that are summed in f32, in another order than matmul_transposed,
/// else packs it untransposed; a device transposes it first. Throws as matmul_transposed.
template <PolicyType P, ScalarArray A, ScalarArray B>
void matmul_into(const A& a, const B& b, ResultOf<P, Matmul> out,
                 const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto left = as_view(a);
  const auto right = as_view(b);
  // A matrix [K, 0] has no rows that could be counted.
  if (right.shape().rank() != 2 || left.columns() != right.shape()[0] || left.columns() == 0)
    detail::shapes_do_not_fit("matmul", left.shape(), right.shape(),
                              "are not [..., M, K] and [K, N] with a K of 1 or more");
  detail::require_same_shape("matmul", left.shape().with_back(right.columns()), result.shape());
  detail::require_apart("matmul", result, left, right);
  using Right = value_type_of<B>;
  detail::run_op_into<Matmul, precisions<P, Matmul>>("matmul", result, [&]<class Types>(Types, auto to) {
    backend::matmul<with_storage<Types, Right>>(left, right, to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray A, ScalarArray B>
auto matmul(const A& a, const B& b, const Context& context = current_context()) {
  return detail::into_new<P, Matmul>(a.shape().with_back(b.shape().back()), context,
                                     [&](auto out) { matmul_into<P>(a, b, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
