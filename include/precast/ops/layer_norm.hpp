// Layer normalisation, with modulation fused into the one store.
#pragma once

#include <cstdint>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/backend/layer_norm.hpp>
#include <precast/ops/norm_options.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/affine.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Implements every layer normalisation on views, under a row of the op table.
template <class Row, class X, class M>
void layer_norm_of_view_into(std::string_view name, X x, const Affine<M>& affine, const NormOptions& options,
                             View<typename Row::result> out) {
  require_same_shape(name, x.shape(), out.shape());
  const bool in_place = require_apart_or_same(name, out, x);
  require_apart(name, out, affine.scale, affine.shift);
  run_op_in_place<Norm, Row>(in_place, name, out, [&](auto types, auto to) {
    backend::layer_norm<decltype(types)>(x, affine, static_cast<f32>(options.eps), to);
  });
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Layer normalisation over the last dimension, without parameters (Ba et al. 2016): (x - mean) / sqrt(var +
/// eps). x [..., C] -> [..., C] in Activation; `out` is x itself or apart from it. Statistics are in the op
/// table's dtypes, f32 without Downcast<Norm>. Throws ShapeError where the shapes differ.
template <PolicyType P, ScalarArray X>
void layer_norm_into(const X& x, const NormOptions& options, ResultOf<P, Norm> out,
                     const Context& context = current_context()) {
  const ContextScope scope(context);
  using Types = precisions<P, Norm>;
  detail::layer_norm_of_view_into<Types>("layer_norm", as_view(x), Affine<typename Types::result>{}, options,
                                         out.view());
}

/// Layer normalisation with a weight and a bias, both [C]; `out` is x itself or apart from it, and apart
/// from weight and bias. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B>
void layer_norm_into(const X& x, const W& weight, const B& bias, const NormOptions& options,
                     ResultOf<P, Norm> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::require_one_per_column("layer_norm", x.shape(), weight.shape());
  detail::require_one_per_column("layer_norm", x.shape(), bias.shape());
  const Affine<value_type_of<W>> affine{as_view(weight), as_view(bias)};
  detail::layer_norm_of_view_into<precisions<P, Norm>>("layer_norm", as_view(x), affine, options, out.view());
}

/// Both into a new tensor.
template <PolicyType P, ScalarArray X>
auto layer_norm(const X& x, const NormOptions& options = {}, const Context& context = current_context()) {
  return detail::into_new<P, Norm>(x.shape(), context,
                                   [&](auto out) { layer_norm_into<P>(x, options, out); });
}
template <PolicyType P, ScalarArray X, ScalarArray W, ScalarArray B>
auto layer_norm(const X& x, const W& weight, const B& bias, const NormOptions& options = {},
                const Context& context = current_context()) {
  return detail::into_new<P, Norm>(x.shape(), context,
                                   [&](auto out) { layer_norm_into<P>(x, weight, bias, options, out); });
}

/// Layer normalisation without parameters, then x (1 + scale) + shift with a scale and a shift for each
/// sample of a batch (adaptive layer normalisation, Peebles and Xie 2022), rounded once. x [B, S, C] or, for
/// one sample, [S, C]; scale and shift [B, C]; `out` has x's shape, is x itself or apart from it, and is
/// apart from both. Throws ShapeError where they do not fit.
template <PolicyType P, ScalarArray X, ScalarArray M, ScalarArray S>
void layer_norm_modulate_into(const X& x, const M& scale, const S& shift, const NormOptions& options,
                              ResultOf<P, Norm> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  const std::int64_t rows_per_sample =
      detail::rows_per_sample("layer_norm_modulate", x.shape(), scale.shape());
  detail::rows_per_sample("layer_norm_modulate", x.shape(), shift.shape());
  const Affine<value_type_of<M>> affine{as_view(scale), as_view(shift), rows_per_sample, true};
  detail::layer_norm_of_view_into<precisions<P, Norm>>("layer_norm_modulate", as_view(x), affine, options,
                                                       out.view());
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray X, ScalarArray M, ScalarArray S>
auto layer_norm_modulate(const X& x, const M& scale, const S& shift, const NormOptions& options = {},
                         const Context& context = current_context()) {
  return detail::into_new<P, Norm>(
      x.shape(), context, [&](auto out) { layer_norm_modulate_into<P>(x, scale, shift, options, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
