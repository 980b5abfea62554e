// The gradient of the cross entropy.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/loss_gradient.hpp>
#include <precast/ops/class_targets.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/problem/context.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The gradient of cross_entropy's logits [rows, classes]: (softmax(logits) - onehot(target)) dloss / n,
/// where n is the number of rows that count; zeros in rows of `ignore_index`, and everywhere where n is 0.
/// `dloss` is the gradient of the loss: 1, or the loss scale. Computed in f32 (with Downcast<Loss>, rounded
/// after each step), then rounded once to the dtype of gradients. `out` [rows, classes] is logits itself or
/// does not overlap it. Throws as cross_entropy does; a target among Indices that is not a class makes its
/// row NaN.
template <PolicyType P, ScalarArray X, ClassNumbers T>
void cross_entropy_gradient_into(f32 dloss, const X& logits, const T& targets,
                                 const CrossEntropyOptions& options, GradientOf<P> out,
                                 const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto of_rows =
      detail::targets_of_rows("cross_entropy_gradient", logits.shape(), targets, options.ignore_index);
  detail::require_same_shape("cross_entropy_gradient", logits.shape(), result.shape());
  const bool in_place = detail::require_apart_or_same("cross_entropy_gradient", result, as_view(logits));
  if constexpr (UncheckedIndices<T>) detail::require_apart("cross_entropy_gradient", result, targets);
  detail::run_gradients_in_place<Loss, gradient_precisions<P, Loss>>(
      in_place, "cross_entropy_gradient",
      [&]<class Types>(Types, auto to) {
        backend::cross_entropy_gradient<Types>(as_view(logits), of_rows.as_argument(), dloss, to);
      },
      result);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
