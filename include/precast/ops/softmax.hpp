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
void softmax_into(const X& x, View<typename precisions<P, Softmax>::result> out) {
  detail::require_same_shape("softmax", x.shape(), out.shape());
  const bool in_place = detail::require_apart_or_same("softmax", out, as_view(x));
  detail::run_op_in_place<Softmax, precisions<P, Softmax>>(
      in_place, "softmax", out,
      [&](auto types, auto to) { backend::softmax<decltype(types)>(as_view(x), to); });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X>
auto softmax(const X& x) {
  Tensor<typename precisions<P, Softmax>::result> out(x.shape());
  softmax_into<P>(x, out.view());
  return out;
}

/// Each in a context, which stands before its other arguments.
template <PolicyType P, class... Arguments>
auto softmax_into(const Context& context, Arguments&&... arguments) {
  return with_context(context, [&] { return softmax_into<P>(arguments...); });
}
template <PolicyType P, class... Arguments>
auto softmax(const Context& context, const Arguments&... arguments) {
  return with_context(context, [&] { return softmax<P>(arguments...); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
