// Layer, RMS and group normalisation, with modulation and activation fused into the one store.
#pragma once

#include <cstdint>
#include <string>

#include <precast/backend.hpp>
#include <precast/backend/norm.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws unless `parameters` is [C] with C the last size of x.
inline void require_one_per_column(std::string_view op, const Shape& x, const Shape& parameters) {
  if (x.rank() == 0 || parameters != Shape{x.back()})
    shapes_do_not_fit(op, x, parameters, "do not fit: one parameter for each value of the last dimension");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

struct NormOptions {
  double eps = 1e-5;  ///< added to the variance, or to the mean of squares
};

struct GroupNormOptions {
  std::int64_t groups = 1;  ///< of neighbouring channels
  double eps = 1e-5;        ///< added to the variance
  ActivationFunction activation = ActivationFunction::none;
};

inline namespace PRECAST_BACKEND {

/// Layer normalisation over the last dimension, without parameters (Ba et al. 2016): (x - mean) / sqrt(var +
/// eps). x [..., C] -> [..., C] in Activation; statistics in the op table's dtypes, f32 without
/// Downcast<Norm>.
template <PolicyType P, ScalarArray X>
void layer_norm_into(const X& x, const NormOptions& options, View<typename precisions<P, Norm>::result> out) {
  detail::require_same_shape("layer_norm", x.shape(), out.shape());
  detail::run_op_into<Norm, precisions<P, Norm>>("layer_norm", out, [&](auto types, auto to) {
    using None = Affine<typename precisions<P, Norm>::result>;
    backend::layer_norm<decltype(types)>(as_view(x), None{}, static_cast<f32>(options.eps), to);
  });
}

/// Layer normalisation with a weight and a bias, both [C]. Throws ShapeError where they are not.
template <PolicyType P, ScalarArray X, ScalarArray W>
void layer_norm_into(const X& x, const W& weight, const W& bias, const NormOptions& options,
                     View<typename precisions<P, Norm>::result> out) {
  detail::require_one_per_column("layer_norm", x.shape(), weight.shape());
  detail::require_one_per_column("layer_norm", x.shape(), bias.shape());
  detail::require_same_shape("layer_norm", x.shape(), out.shape());
  const Affine<value_type_of<W>> affine{as_view(weight), as_view(bias)};
  detail::run_op_into<Norm, precisions<P, Norm>>("layer_norm", out, [&](auto types, auto to) {
    backend::layer_norm<decltype(types)>(as_view(x), affine, static_cast<f32>(options.eps), to);
  });
}

/// Both into a new tensor.
template <PolicyType P, ScalarArray X>
auto layer_norm(const X& x, const NormOptions& options) {
  Tensor<typename precisions<P, Norm>::result> out(x.shape());
  layer_norm_into<P>(x, options, out.view());
  return out;
}
template <PolicyType P, ScalarArray X, ScalarArray W>
auto layer_norm(const X& x, const W& weight, const W& bias, const NormOptions& options) {
  Tensor<typename precisions<P, Norm>::result> out(x.shape());
  layer_norm_into<P>(x, weight, bias, options, out.view());
  return out;
}

/// Layer normalisation without parameters, then x (1 + scale) + shift with a scale and a shift for each
/// sample of a batch (adaptive layer normalisation, Peebles and Xie 2022), rounded once. x [B, S, C] or, for
/// one sample, [S, C]; scale and shift [B, C].
template <PolicyType P, ScalarArray X, ScalarArray M>
void layer_norm_modulate_into(const X& x, const M& scale, const M& shift, const NormOptions& options,
                              View<typename precisions<P, Norm>::result> out) {
  const std::int64_t rows_per_picture =
      detail::rows_per_picture("layer_norm_modulate", x.shape(), scale.shape());
  detail::rows_per_picture("layer_norm_modulate", x.shape(), shift.shape());
  const Affine<value_type_of<M>> affine{as_view(scale), as_view(shift), rows_per_picture, true};
  detail::require_same_shape("layer_norm_modulate", x.shape(), out.shape());
  detail::run_op_into<Norm, precisions<P, Norm>>("layer_norm_modulate", out, [&](auto types, auto to) {
    backend::layer_norm<decltype(types)>(as_view(x), affine, static_cast<f32>(options.eps), to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray M>
auto layer_norm_modulate(const X& x, const M& scale, const M& shift, const NormOptions& options) {
  Tensor<typename precisions<P, Norm>::result> out(x.shape());
  layer_norm_modulate_into<P>(x, scale, shift, options, out.view());
  return out;
}

/// Root-mean-square normalisation over the last dimension (Zhang and Sennrich 2019): x / sqrt(mean x^2 + eps)
/// weight. x [..., C], weight [C] -> [..., C] in Activation, into a tensor or slice that does not overlap x.
template <PolicyType P, ScalarArray X, ScalarArray W>
void rms_norm_into(const X& x, const W& weight, const NormOptions& options,
                   View<typename precisions<P, Norm>::result> out) {
  detail::require_one_per_column("rms_norm", x.shape(), weight.shape());
  detail::require_same_shape("rms_norm", x.shape(), out.shape());
  detail::run_op_into<Norm, precisions<P, Norm>>("rms_norm", out, [&](auto types, auto to) {
    backend::rms_norm<decltype(types)>(as_view(x), as_view(weight), static_cast<f32>(options.eps), to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray W>
auto rms_norm(const X& x, const W& weight, const NormOptions& options) {
  Tensor<typename precisions<P, Norm>::result> out(x.shape());
  rms_norm_into<P>(x, weight, options, out.view());
  return out;
}

/// RMS normalisation of each head of queries or keys: x [..., H * D], weight [D] -> out [..., H * D].
template <PolicyType P, ScalarArray X, ScalarArray W>
void rms_norm_heads_into(const X& x, const W& weight, const NormOptions& options,
                         View<typename precisions<P, Norm>::result> out) {
  const Shape& shape = x.shape();
  if (shape.rank() == 0 || weight.shape().rank() != 1 || weight.elements() == 0 ||
      shape.back() % weight.elements() != 0)
    detail::shapes_do_not_fit("rms_norm_heads", shape, weight.shape(), "are not [..., heads * D] and [D]");
  if (out.shape() != shape)
    detail::shapes_do_not_fit("rms_norm_heads", shape, out.shape(), "have different shapes");
  detail::run_op_into<Norm, precisions<P, Norm>>("rms_norm_heads", out, [&](auto types, auto to) {
    backend::rms_norm<decltype(types)>(as_view(x), as_view(weight), static_cast<f32>(options.eps), to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray W>
auto rms_norm_heads(const X& x, const W& weight, const NormOptions& options) {
  Tensor<typename precisions<P, Norm>::result> out(x.shape());
  rms_norm_heads_into<P>(x, weight, options, out.view());
  return out;
}

/// Group normalisation (Wu and He 2018) of x [B, H, W, C] in groups of neighbouring channels, times weight
/// [C] plus bias [C], then an activation, rounded once. Throws ShapeError where shapes or groups do not fit.
template <PolicyType P, ScalarArray X, ScalarArray W>
void group_norm_into(const X& x, const W& weight, const W& bias, const GroupNormOptions& options,
                     View<typename precisions<P, Norm>::result> out) {
  const Shape& shape = x.shape();
  const std::int64_t groups = options.groups;
  detail::require_one_per_column("group_norm", shape, weight.shape());
  detail::require_one_per_column("group_norm", shape, bias.shape());
  if (shape.rank() != 4) throw ShapeError("group_norm: " + to_string(shape) + " is not [B, H, W, C]");
  if (groups < 1 || shape.back() % groups != 0)
    throw ShapeError("group_norm: " + std::to_string(groups) + " groups do not divide the channels of " +
                     to_string(shape));
  detail::require_same_shape("group_norm", shape, out.shape());
  detail::run_op_into<Norm, precisions<P, Norm>>("group_norm", out, [&](auto types, auto to) {
    if (to.elements() == 0) return;
    backend::group_norm<decltype(types)>(as_view(x), groups, as_view(weight), as_view(bias),
                                         static_cast<f32>(options.eps), options.activation, to);
  });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray W>
auto group_norm(const X& x, const W& weight, const W& bias, const GroupNormOptions& options) {
  Tensor<typename precisions<P, Norm>::result> out(x.shape());
  group_norm_into<P>(x, weight, bias, options, out.view());
  return out;
}

/// Each in a context, which stands before its other arguments.
template <PolicyType P, ScalarArray X>
void layer_norm_into(const Context& context, const X& x, const NormOptions& options,
                     View<typename precisions<P, Norm>::result> out) {
  with_context(context, [&] { layer_norm_into<P>(x, options, out); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
void layer_norm_into(const Context& context, const X& x, const W& weight, const W& bias,
                     const NormOptions& options, View<typename precisions<P, Norm>::result> out) {
  with_context(context, [&] { layer_norm_into<P>(x, weight, bias, options, out); });
}
template <PolicyType P, ScalarArray X>
auto layer_norm(const Context& context, const X& x, const NormOptions& options) {
  return with_context(context, [&] { return layer_norm<P>(x, options); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
auto layer_norm(const Context& context, const X& x, const W& weight, const W& bias,
                const NormOptions& options) {
  return with_context(context, [&] { return layer_norm<P>(x, weight, bias, options); });
}
template <PolicyType P, ScalarArray X, ScalarArray M>
void layer_norm_modulate_into(const Context& context, const X& x, const M& scale, const M& shift,
                              const NormOptions& options, View<typename precisions<P, Norm>::result> out) {
  with_context(context, [&] { layer_norm_modulate_into<P>(x, scale, shift, options, out); });
}
template <PolicyType P, ScalarArray X, ScalarArray M>
auto layer_norm_modulate(const Context& context, const X& x, const M& scale, const M& shift,
                         const NormOptions& options) {
  return with_context(context, [&] { return layer_norm_modulate<P>(x, scale, shift, options); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
void rms_norm_into(const Context& context, const X& x, const W& weight, const NormOptions& options,
                   View<typename precisions<P, Norm>::result> out) {
  with_context(context, [&] { rms_norm_into<P>(x, weight, options, out); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
auto rms_norm(const Context& context, const X& x, const W& weight, const NormOptions& options) {
  return with_context(context, [&] { return rms_norm<P>(x, weight, options); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
void rms_norm_heads_into(const Context& context, const X& x, const W& weight, const NormOptions& options,
                         View<typename precisions<P, Norm>::result> out) {
  with_context(context, [&] { rms_norm_heads_into<P>(x, weight, options, out); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
auto rms_norm_heads(const Context& context, const X& x, const W& weight, const NormOptions& options) {
  return with_context(context, [&] { return rms_norm_heads<P>(x, weight, options); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
void group_norm_into(const Context& context, const X& x, const W& weight, const W& bias,
                     const GroupNormOptions& options, View<typename precisions<P, Norm>::result> out) {
  with_context(context, [&] { group_norm_into<P>(x, weight, bias, options, out); });
}
template <PolicyType P, ScalarArray X, ScalarArray W>
auto group_norm(const Context& context, const X& x, const W& weight, const W& bias,
                const GroupNormOptions& options) {
  return with_context(context, [&] { return group_norm<P>(x, weight, bias, options); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
