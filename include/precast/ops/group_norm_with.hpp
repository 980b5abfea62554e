// Group normalisation in pieces: the moments of a part of an image, and normalisation with those of the
// whole.
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
#include <precast/problem/group_moments.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// The shape of moments: [B * groups, 4] for x [B, H, W, C]. Throws ShapeError where they do not fit.
inline Shape shape_of_moments(const Shape& shape, std::int64_t groups) {
  require_groups("group_moments", shape, groups);
  if (shape[0] > 0 && shape.elements() == 0)
    throw ShapeError("group_moments: images of " + to_string(shape) + " have no values");
  return group_moments_shape(shape[0], groups);
}

/// Implements group_norm_with_into on views.
template <class Row, class X, class M, class W>
void group_norm_with_of_view_into(X x, M moments, W weight, std::type_identity_t<W> bias,
                                  const GroupNormOptions& options, View<typename Row::result> out) {
  const Shape& shape = x.shape();
  require_one_per_column("group_norm_with", shape, weight.shape());
  require_one_per_column("group_norm_with", shape, bias.shape());
  require_groups("group_norm_with", shape, options.groups);
  if (moments.shape() != group_moments_shape(shape[0], options.groups))
    shapes_do_not_fit("group_norm_with", shape, moments.shape(),
                      "are not [B, H, W, C] and [B * " + std::to_string(options.groups) + ", 4]");
  require_same_shape("group_norm_with", shape, out.shape());
  const bool in_place = require_apart_or_same("group_norm_with", out, x);
  require_apart("group_norm_with", out, moments, weight, bias);
  run_op_in_place<Norm, Row>(in_place, "group_norm", out, [&](auto types, auto to) {
    if (to.elements() == 0) return;
    backend::group_norm_with<decltype(types)>(x, moments, weight, bias, options.activation, to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// The moments of each group of neighbouring channels of each image of x [B, H, W, C], into out
/// [B * groups, 4]: GroupMoments. For a group that holds an infinity or NaN, the last two are NaN, and so
/// is the sum of the first two. `options.activation` is ignored. `out` must not overlap x. Throws
/// ShapeError where shapes or groups do not fit, and where images have no values to take moments of.
template <ScalarArray X>
void group_moments_into(const X& x, const GroupNormOptions& options, PendingView<View<f32>> out,
                        const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const Shape moments = detail::shape_of_moments(x.shape(), options.groups);
  detail::require_same_shape("group_moments", moments, result.shape());
  detail::require_rows_apart("group_moments", result);
  detail::require_apart("group_moments", result, as_view(x));
  if (moments[0] > 0 && (!MemoryCounter::active() || detail::takes_memory<Norm>))
    backend::group_moments(as_view(x), options.groups, static_cast<f32>(options.eps), result);
}

/// The same into a new tensor.
template <ScalarArray X>
Tensor<f32> group_moments(const X& x, const GroupNormOptions& options,
                          const Context& context = current_context()) {
  const ContextScope scope(context);
  Tensor<f32> moments(detail::shape_of_moments(x.shape(), options.groups));
  group_moments_into(x, options, moments.view());
  return moments;
}

/// Group normalisation of x [B, H, W, C] with `moments` as group_moments gives them, times weight [C] plus
/// bias [C], then an activation, rounded once, into out [B, H, W, C], which is x itself or apart from it,
/// and apart from the others. The moments hold eps. Throws ShapeError where shapes or groups do not fit.
template <PolicyType P, ScalarArray X, ScalarArray M, ScalarArray W, ScalarArray B>
void group_norm_with_into(const X& x, const M& moments, const W& weight, const B& bias,
                          const GroupNormOptions& options, ResultOf<P, Norm> out,
                          const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::group_norm_with_of_view_into<precisions<P, Norm>>(as_view(x), as_view(moments), as_view(weight),
                                                            as_view(bias), options, out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray M, ScalarArray W, ScalarArray B>
auto group_norm_with(const X& x, const M& moments, const W& weight, const B& bias,
                     const GroupNormOptions& options, const Context& context = current_context()) {
  return detail::into_new<P, Norm>(
      x.shape(), context, [&](auto out) { group_norm_with_into<P>(x, moments, weight, bias, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
