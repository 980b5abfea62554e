// Losses: the mean squared error of two arrays, and the cross entropy of logits.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/loss.hpp>
#include <precast/ops/class_targets.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The mean of (x - y)^2 over all values, as a tensor of rank 0: x and y of one shape, and of any dtypes.
/// The result is f32, and so are sums without Downcast<Loss>: the error is a few roundings for any number
/// of values. The mean of none is NaN. `out` must not overlap x or y. Throws ShapeError where the shapes
/// differ or `out` has dimensions.
template <PolicyType P, ScalarArray X, ScalarArray Y>
void mean_squared_error_into(const X& x, const Y& y, ResultOf<P, Loss> out,
                             const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  detail::require_same_shape("mean_squared_error", x.shape(), y.shape());
  detail::require_same_shape("mean_squared_error", Shape{}, result.shape());
  detail::require_apart("mean_squared_error", result, as_view(x), as_view(y));
  detail::run_op_into<Loss, precisions<P, Loss>>("mean_squared_error", result, [&](auto types, auto to) {
    backend::mean_squared_error<decltype(types)>(as_view(x), as_view(y), to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray Y>
auto mean_squared_error(const X& x, const Y& y, const Context& context = current_context()) {
  return detail::into_new<P, Loss>(Shape{}, context,
                                   [&](auto out) { mean_squared_error_into<P>(x, y, out); });
}

/// The mean over rows of -log softmax(logits)[target], as a tensor of rank 0: logits [rows, classes], a
/// target for each row, and rows of `ignore_index` left out. The result is f32, log(sum e^(x - max)) -
/// (x[target] - max), and computed in f32 without Downcast<Loss>. It is NaN where a row holds +inf or NaN,
/// or nothing but -inf, inf where a target has -inf, and NaN for no rows. `out` must not overlap logits.
/// Throws ShapeError where the shapes do not fit, and InputError for a target in host memory that is not a
/// class; one among Indices, which are not checked beforehand, makes the result NaN.
template <PolicyType P, ScalarArray X, ClassNumbers T>
void cross_entropy_into(const X& logits, const T& targets, const CrossEntropyOptions& options,
                        ResultOf<P, Loss> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto of_rows =
      detail::targets_of_rows("cross_entropy", logits.shape(), targets, options.ignore_index);
  detail::require_same_shape("cross_entropy", Shape{}, result.shape());
  detail::require_apart("cross_entropy", result, as_view(logits));
  if constexpr (UncheckedIndices<T>) detail::require_apart("cross_entropy", result, targets);
  detail::run_op_into<Loss, precisions<P, Loss>>("cross_entropy", result, [&](auto types, auto to) {
    backend::cross_entropy<decltype(types)>(as_view(logits), of_rows.as_argument(), to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ClassNumbers T>
auto cross_entropy(const X& logits, const T& targets, const CrossEntropyOptions& options = {},
                   const Context& context = current_context()) {
  return detail::into_new<P, Loss>(Shape{}, context,
                                   [&](auto out) { cross_entropy_into<P>(logits, targets, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
