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

/// group_norm_into, of views.
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
                     View<typename precisions<P, Norm>::result> out) {
  detail::group_norm_of_view_into<precisions<P, Norm>>(as_view(x), as_view(weight), as_view(bias), options,
                                                       out);
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B>
auto group_norm(const X& x, const W& weight, const B& bias, const GroupNormOptions& options) {
  Tensor<typename precisions<P, Norm>::result> out(x.shape());
  group_norm_into<P>(x, weight, bias, options, out.view());
  return out;
}

/// Each in a context, which stands before its other arguments.
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B, class Out>
void group_norm_into(const Context& context, const X& x, const W& weight, const B& bias,
                     const GroupNormOptions& options, Out&& out) {
  with_context(context, [&] { group_norm_into<P>(x, weight, bias, options, out); });
}
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B>
auto group_norm(const Context& context, const X& x, const W& weight, const B& bias,
                const GroupNormOptions& options) {
  return with_context(context, [&] { return group_norm<P>(x, weight, bias, options); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
