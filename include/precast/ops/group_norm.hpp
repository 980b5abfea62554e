// Group normalisation, with its activation fused into the one store.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/backend/group_norm.hpp>
#include <precast/ops/norm_options.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Implements group_norm_into on views.
template <class Row, class X, class W>
void group_norm_of_view_into(X x, W weight, std::type_identity_t<W> bias, const GroupNormOptions& options,
                             View<typename Row::result> out) {
  const Shape& shape = x.shape();
  const std::int64_t groups = options.groups;
  require_one_per_column("group_norm", shape, weight.shape());
  require_one_per_column("group_norm", shape, bias.shape());
  require_groups("group_norm", shape, groups);
  require_same_shape("group_norm", shape, out.shape());
  const bool in_place = require_apart_or_same("group_norm", out, x);
  require_apart("group_norm", out, weight, bias);
  run_op_in_place<Norm, Row>(in_place, "group_norm", out, [&](auto types, auto to) {
    if (to.elements() == 0) return;
    backend::group_norm<decltype(types)>(x, groups, weight, bias, static_cast<f32>(options.eps),
                                         options.activation, to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Group normalisation (Wu and He 2018) of x [B, H, W, C] in groups of neighbouring channels, times weight
/// [C] plus bias [C], then an activation, rounded once, into `out` of x's shape, which is x itself or
/// apart from it, and apart from weight and bias. Throws ShapeError where shapes or groups do not fit.
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B>
void group_norm_into(const X& x, const W& weight, const B& bias, const GroupNormOptions& options,
                     ResultOf<P, Norm> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::group_norm_of_view_into<precisions<P, Norm>>(as_view(x), as_view(weight), as_view(bias), options,
                                                       out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B>
auto group_norm(const X& x, const W& weight, const B& bias, const GroupNormOptions& options,
                const Context& context = current_context()) {
  return detail::into_new<P, Norm>(x.shape(), context,
                                   [&](auto out) { group_norm_into<P>(x, weight, bias, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
