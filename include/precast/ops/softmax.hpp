// Softmax over the last dimension.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/softmax.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// e^x / sum e^x over the last dimension, returned in f32, and computed in it without Downcast<Softmax>. x
/// [..., C] -> [..., C]; `out` is x itself or apart from it. A row that holds +inf or NaN, or nothing but
/// -inf, gives NaN. Throws ShapeError where the shapes differ.
template <PolicyType P, ScalarArray X>
void softmax_into(const X& x, ResultOf<P, Softmax> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  detail::require_same_shape("softmax", x.shape(), result.shape());
  const bool in_place = detail::require_apart_or_same("softmax", result, as_view(x));
  detail::run_op_in_place<Softmax, precisions<P, Softmax>>(
      in_place, "softmax", result,
      [&](auto types, auto to) { backend::softmax<decltype(types)>(as_view(x), to); });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto softmax(const X& x, const Context& context = current_context()) {
  return detail::into_new<P, Softmax>(x.shape(), context, [&](auto out) { softmax_into<P>(x, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
