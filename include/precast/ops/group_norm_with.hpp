// Group normalisation in pieces: the moments of a part of a picture, and normalisation with those of the
// whole.
#pragma once

#include <cstdint>

#include <precast/backend.hpp>
#include <precast/backend/norm.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The moments of each group of neighbouring channels of each picture of x [B, H, W, C], in f32: [B * groups,
/// 4] with mean, what is left of it, 1 / sqrt(variance + eps), 0. Throws ShapeError where shapes or groups do
/// not fit.
template <ScalarArray X>
Tensor<f32> group_moments(const X& x, std::int64_t groups, double eps) {
  const Shape& shape = x.shape();
  if (shape.rank() != 4 || groups < 1 || shape.back() % groups != 0)
    throw ShapeError("group_moments: " + to_string(shape) + " is not [B, H, W, C] with channels for " +
                     std::to_string(groups) + " groups");
  Tensor<f32> moments(Shape{shape[0] * groups, 4});
  if (!MemoryCounter::active() || !backend::Memory::on_host)
    backend::group_moments(as_view(x), groups, static_cast<f32>(eps), moments.view());
  return moments;
}

/// Group normalisation of x [B, H, W, C] with `moments` as group_moments gives them, times weight [C] plus
/// bias [C], then an activation, rounded once. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray X, ScalarArray M, ScalarArray W>
auto group_norm_with(const X& x, const M& moments, const W& weight, const W& bias,
                     ActivationFunction activation = ActivationFunction::none) {
  const Shape& shape = x.shape();
  detail::require_one_per_column("group_norm_with", shape, weight.shape());
  detail::require_one_per_column("group_norm_with", shape, bias.shape());
  const bool fits = shape.rank() == 4 && moments.shape().rank() == 2 && moments.columns() == 4 &&
                    moments.rows() > 0 && moments.rows() % shape[0] == 0 &&
                    shape.back() % (moments.rows() / shape[0]) == 0;
  if (!fits)
    detail::shapes_do_not_fit("group_norm_with", shape, moments.shape(),
                              "are not [B, H, W, C] and [B * groups, 4]");
  Tensor<typename precisions<P, Norm>::result> out(shape);
  detail::run_op_into<Norm, precisions<P, Norm>>("group_norm", out.view(), [&](auto types, auto to) {
    if (to.elements() == 0) return;
    backend::group_norm_with<decltype(types)>(as_view(x), as_view(moments), as_view(weight), as_view(bias),
                                              activation, to);
  });
  return out;
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
