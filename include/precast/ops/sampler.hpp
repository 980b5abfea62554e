// Ops of samplers, which stand outside of policies: their state is f32 under every one. Each value is
// computed in f32, every product and quotient rounded by itself. All arrays of an op have one shape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/backend/pointwise.hpp>
#include <precast/backend/reduction.hpp>
#include <precast/error.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/broadcast.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/sampler_functions.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

/// What the samplers' sums compute in under every policy.
using SamplerSum = OpDtypes<f32, AsGiven, f32, f32, f32>;

namespace detail {

inline namespace PRECAST_BACKEND {

template <class F, class... In>
void sampler_op(std::string_view name, View<f32> out, const F& function, const In&... in) {
  (require_same_shape(name, in.shape(), out.shape()), ...);
  require_apart_or_same(name, out, View<const f32>(in)...);
  backend::map_values<SamplerStep>(out, function, View<const f32>(in)...);
}

/// The sum of squared deviations from their mean of the values of each image: [images, 1].
inline Tensor<f32> squared_deviations(View<const f32> images) {
  const std::int64_t count = images.shape()[0], values = images.elements() / count;
  const View<const f32> single = images.reshaped(Shape{images.elements(), 1});
  Tensor<f32> sums(Shape{count, 1}), squares(single.shape());
  backend::reduce_values<SamplerSum>(images, values, Reduce::mean, sums.view());
  backend::map_values<SamplerStep>(squares.view(), elementwise::SquaredDeviation{}, single,
                                   RowBroadcast{View<const f32>(sums.view()), values});
  backend::reduce_values<SamplerSum>(View<const f32>(squares.view()), values, Reduce::sum, sums.view());
  return sums;
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// A linear combination of one to four tensors; `out` may be one of them. Throws ShapeError where the shapes
/// differ.
inline void combine_into(View<const f32> x0, const elementwise::Combination& how, View<f32> out) {
  detail::sampler_op("combine", out, how, x0);
}
inline void combine_into(View<const f32> x0, View<const f32> x1, const elementwise::Combination& how,
                         View<f32> out) {
  detail::sampler_op("combine", out, how, x0, x1);
}
inline void combine_into(View<const f32> x0, View<const f32> x1, View<const f32> x2,
                         const elementwise::Combination& how, View<f32> out) {
  detail::sampler_op("combine", out, how, x0, x1, x2);
}
inline void combine_into(View<const f32> x0, View<const f32> x1, View<const f32> x2, View<const f32> x3,
                         const elementwise::Combination& how, View<f32> out) {
  detail::sampler_op("combine", out, how, x0, x1, x2, x3);
}

/// Classifier-free guidance (Ho and Salimans 2022): out = negative + scale (positive - negative). `out` may
/// be either. Throws ShapeError where the shapes differ.
inline void guide_into(View<const f32> negative, View<const f32> positive, f32 scale, View<f32> out) {
  detail::sampler_op("guide", out, elementwise::Guidance{scale}, negative, positive);
}

/// Guidance rescale (Lin et al. 2023, section 3.4) of guided [images, ...]:
/// out = share guided std(positive) / std(guided) + (1 - share) guided, with the standard deviations (over
/// n - 1) of each image. `out` may be `guided`; all are contiguous. Throws ShapeError where the shapes differ
/// or have no dimensions, InputError where `share` is outside [0, 1] or an image has fewer than two values.
inline void rescale_guidance_into(View<const f32> guided, View<const f32> positive, f32 share,
                                  View<f32> out) {
  detail::require_same_shape("rescale_guidance", guided.shape(), positive.shape());
  detail::require_same_shape("rescale_guidance", guided.shape(), out.shape());
  if (guided.shape().rank() == 0)
    throw ShapeError("rescale_guidance: " + to_string(guided.shape()) + " is not [images, ...]");
  if (!(share >= 0 && share <= 1))
    throw InputError("rescale_guidance: a share of " + std::to_string(share) + " is not between 0 and 1");
  if (share == 0) return combine_into(guided, {}, out);
  if (guided.elements() == 0) return;
  const std::int64_t values = guided.elements() / guided.shape()[0];
  if (values < 2) throw InputError("rescale_guidance: images of one value have no standard deviation");
  detail::require_apart_or_same("rescale_guidance", out, guided);
  const Tensor<f32> squares = detail::squared_deviations(guided);
  const Tensor<f32> wanted = detail::squared_deviations(positive);
  const Shape single{guided.elements(), 1};
  backend::map_values<SamplerStep>(
      out.reshaped(single), elementwise::RescaledGuidance{share, static_cast<f32>(values - 1)},
      guided.reshaped(single), RowBroadcast{squares.view(), values}, RowBroadcast{wanted.view(), values});
}

/// Inpainting: out = mask latents + (1 - mask) (from_clean clean + from_noise noise). `out` may be any of
/// them. Throws ShapeError where the shapes differ.
inline void repaint_into(View<const f32> latents, View<const f32> clean, View<const f32> noise,
                         View<const f32> mask, const elementwise::Repainted& how, View<f32> out) {
  detail::sampler_op("repaint", out, how, latents, clean, noise, mask);
}

/// A step of Euler's method: out = state + distance velocity. `out` may be either. Throws ShapeError where
/// the shapes differ.
inline void euler_step_into(View<const f32> state, View<const f32> velocity, f32 distance, View<f32> out) {
  detail::sampler_op("euler_step", out, elementwise::EulerStep{distance}, state, velocity);
}

// The same on a Context, the first argument (problem/context.hpp). Tensors become views in it, where they
// wait for what was uploaded to them.
template <ArrayOf<f32> X0, class Out>
void combine_into(const Context& context, const X0& x0, const elementwise::Combination& how, Out&& out) {
  with_context(context, [&] { combine_into(x0, how, out); });
}
template <ArrayOf<f32> X0, ArrayOf<f32> X1, class Out>
void combine_into(const Context& context, const X0& x0, const X1& x1, const elementwise::Combination& how,
                  Out&& out) {
  with_context(context, [&] { combine_into(x0, x1, how, out); });
}
template <ArrayOf<f32> X0, ArrayOf<f32> X1, ArrayOf<f32> X2, class Out>
void combine_into(const Context& context, const X0& x0, const X1& x1, const X2& x2,
                  const elementwise::Combination& how, Out&& out) {
  with_context(context, [&] { combine_into(x0, x1, x2, how, out); });
}
template <ArrayOf<f32> X0, ArrayOf<f32> X1, ArrayOf<f32> X2, ArrayOf<f32> X3, class Out>
void combine_into(const Context& context, const X0& x0, const X1& x1, const X2& x2, const X3& x3,
                  const elementwise::Combination& how, Out&& out) {
  with_context(context, [&] { combine_into(x0, x1, x2, x3, how, out); });
}
template <ArrayOf<f32> N, ArrayOf<f32> Q, class Out>
void guide_into(const Context& context, const N& negative, const Q& positive, f32 scale, Out&& out) {
  with_context(context, [&] { guide_into(negative, positive, scale, out); });
}
template <ArrayOf<f32> G, ArrayOf<f32> Q, class Out>
void rescale_guidance_into(const Context& context, const G& guided, const Q& positive, f32 share, Out&& out) {
  with_context(context, [&] { rescale_guidance_into(guided, positive, share, out); });
}
template <ArrayOf<f32> L, ArrayOf<f32> C, ArrayOf<f32> N, ArrayOf<f32> M, class Out>
void repaint_into(const Context& context, const L& latents, const C& clean, const N& noise, const M& mask,
                  const elementwise::Repainted& how, Out&& out) {
  with_context(context, [&] { repaint_into(latents, clean, noise, mask, how, out); });
}
template <ArrayOf<f32> S, ArrayOf<f32> V, class Out>
void euler_step_into(const Context& context, const S& state, const V& velocity, f32 distance, Out&& out) {
  with_context(context, [&] { euler_step_into(state, velocity, distance, out); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
