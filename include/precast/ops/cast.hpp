// cast: values in another scalar dtype.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/convert.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Converts x [...] to To, each value rounded once to nearest, ties to even. A value above To's range is
/// inf (NaN where To has none), or with `Saturates` the largest finite number. `out` has x's shape, and is
/// x itself or apart from it. No policy applies. Throws ShapeError where the shapes differ.
template <ScalarDtype To, bool Saturates = false, ScalarArray X>
void cast_into(const X& x, View<To> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::require_same_shape("cast", x.shape(), out.shape());
  detail::require_apart_or_same("cast", out, as_view(x));
  if (!DryRun::active()) backend::convert_values<To, Saturates>(as_view(x), out);
}
template <ScalarDtype To, bool Saturates = false, ScalarArray X>
void cast_into(const X& x, Tensor<To>& out, const Context& context = current_context()) {
  const ContextScope scope(context);
  cast_into<To, Saturates>(x, out.view());
}

/// The same into a new tensor.
template <ScalarDtype To, bool Saturates = false, ScalarArray X>
Tensor<To> cast(const X& x, const Context& context = current_context()) {
  const ContextScope scope(context);
  Tensor<To> out(x.shape());
  cast_into<To, Saturates>(x, out.view());
  return out;
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
