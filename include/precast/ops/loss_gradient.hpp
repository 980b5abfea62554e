// The gradient of the cross entropy.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/loss_gradient.hpp>
#include <precast/ops/class_targets.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/problem/context.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The gradient of cross_entropy's logits [rows, classes]: (softmax(logits) - 1 at the target) dloss / rows
/// that count, zeros in rows of the ignored index, and everywhere where no row counts. `dloss` is the
/// gradient of the loss: 1, or the scale of a loss that is scaled. In f32 (Downcast<Loss>: rounded after each
/// step), and rounded once to what gradients are stored as. `out` [rows, classes] is
/// logits itself or apart from them. Throws as cross_entropy does; a target among Indices that is no class
/// makes its row NaN.
template <PolicyType P, ScalarArray X, ClassNumbers T>
void cross_entropy_gradient_into(f32 dloss, const X& logits, const T& targets,
                                 const CrossEntropyOptions& options,
                                 View<typename training<P>::gradient> out) {
  const auto of_rows =
      detail::targets_of_rows("cross_entropy_gradient", logits.shape(), targets, options.ignore_index);
  detail::require_same_shape("cross_entropy_gradient", logits.shape(), out.shape());
  const bool in_place = detail::require_apart_or_same("cross_entropy_gradient", out, as_view(logits));
  if constexpr (UncheckedIndices<T>) detail::require_apart("cross_entropy_gradient", out, targets);
  detail::run_gradients_in_place<Loss, gradient_precisions<P, Loss>>(
      in_place, "cross_entropy_gradient",
      [&]<class Types>(Types, auto to) {
        backend::cross_entropy_gradient<Types>(as_view(logits), of_rows.as_argument(), dloss, to);
      },
      out);
}

/// Each in a context, which stands before its other arguments.
template <PolicyType P, ScalarArray X, ClassNumbers T, class Out>
void cross_entropy_gradient_into(const Context& context, f32 dloss, const X& logits, const T& targets,
                                 const CrossEntropyOptions& options, Out&& out) {
  with_context(context, [&] { cross_entropy_gradient_into<P>(dloss, logits, targets, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
