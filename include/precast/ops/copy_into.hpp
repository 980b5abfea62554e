// Copies into slices of other tensors.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Implements copy_into on views.
template <class Types, class X>
void copy_view_into(X x, View<typename Types::result> out) {
  if (x.elements() != out.elements() || x.columns() != out.columns())
    shapes_do_not_fit("copy_into", x.shape(), out.shape(), "have different rows");
  const bool in_place = require_apart_or_same("copy_into", out, x);
  run_op_in_place<Pointwise, Types>(
      in_place, "copy_into", out, [&](auto types, auto to) { backend::copy_values<decltype(types)>(x, to); });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Copies x into a slice of another tensor, rounded to Activation where that is narrower. Both have as many
/// rows and as many columns; their shapes may differ otherwise. `out` is x itself or apart from it. Throws
/// ShapeError where rows or columns differ.
template <PolicyType P, ScalarArray X>
void copy_into(const X& x, ResultOf<P, Pointwise> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::copy_view_into<precisions<P, Pointwise>>(as_view(x), out.view());
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
