// Ops of samplers. No policy applies to them: their state is always f32. Each value is computed in f32,
// every product and quotient rounded separately. All arrays of an op have one shape.
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

/// The dtypes of the samplers' sums under every policy.
using SamplerSum = OpDtypes<f32, AsGiven, f32, f32, f32>;

inline namespace PRECAST_BACKEND {

/// A Tensor or a View that an op of samplers reads, and one that it writes.
using SamplerInput = PendingView<View<const f32>>;
using SamplerResult = PendingView<View<f32>>;

}  // namespace PRECAST_BACKEND

namespace detail {

inline namespace PRECAST_BACKEND {

template <class F, class... In>
void sampler_op(std::string_view name, const Context& context, const SamplerResult& out, const F& function,
                const In&... in) {
  const ContextScope scope(context);
  const auto run = [&](View<f32> to, const auto&... from) {
    (require_same_shape(name, from.shape(), to.shape()), ...);
    require_apart_or_same(name, to, from...);
    backend::map_values<SamplerStep>(to, function, from...);
  };
  run(out.view(), in.view()...);
}

/// For each image, the sum of the squared deviations of its values from their mean: [images, 1].
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
inline void combine_into(SamplerInput x0, const elementwise::Combination& how, SamplerResult out,
                         const Context& context = current_context()) {
  detail::sampler_op("combine", context, out, how, x0);
}
inline void combine_into(SamplerInput x0, SamplerInput x1, const elementwise::Combination& how,
                         SamplerResult out, const Context& context = current_context()) {
  detail::sampler_op("combine", context, out, how, x0, x1);
}
inline void combine_into(SamplerInput x0, SamplerInput x1, SamplerInput x2,
                         const elementwise::Combination& how, SamplerResult out,
                         const Context& context = current_context()) {
  detail::sampler_op("combine", context, out, how, x0, x1, x2);
}
inline void combine_into(SamplerInput x0, SamplerInput x1, SamplerInput x2, SamplerInput x3,
                         const elementwise::Combination& how, SamplerResult out,
                         const Context& context = current_context()) {
  detail::sampler_op("combine", context, out, how, x0, x1, x2, x3);
}

/// Classifier-free guidance (Ho and Salimans 2022): out = negative + scale (positive - negative). `out` may
/// be either. Throws ShapeError where the shapes differ.
inline void guide_into(SamplerInput negative, SamplerInput positive, f32 scale, SamplerResult out,
                       const Context& context = current_context()) {
  detail::sampler_op("guide", context, out, elementwise::Guidance{scale}, negative, positive);
}

/// Guidance rescale (Lin et al. 2023, section 3.4) of guided [images, ...]:
/// out = share guided std(positive) / std(guided) + (1 - share) guided, with the standard deviations (over
/// n - 1) of each image. `out` may be `guided`; all are contiguous. Throws ShapeError where the shapes differ
/// or have no dimensions, InputError where `share` is outside [0, 1] or an image has fewer than two values.
inline void rescale_guidance_into(SamplerInput guided, SamplerInput positive, f32 share, SamplerResult out,
                                  const Context& context = current_context()) {
  detail::require_same_shape("rescale_guidance", guided.shape(), positive.shape());
  detail::require_same_shape("rescale_guidance", guided.shape(), out.shape());
  if (guided.shape().rank() == 0)
    throw ShapeError("rescale_guidance: " + to_string(guided.shape()) + " is not [images, ...]");
  if (!(share >= 0 && share <= 1))
    throw InputError("rescale_guidance: a fraction of " + std::to_string(share) + " is not between 0 and 1");
  if (share == 0) return combine_into(guided, {}, out, context);
  const Shape single{guided.shape().elements(), 1};
  if (single[0] == 0) return;
  const std::int64_t values = single[0] / guided.shape()[0];
  if (values < 2) throw InputError("rescale_guidance: images of one value have no standard deviation");
  const ContextScope scope(context);
  const auto from = guided.view();
  const auto to = out.view();
  detail::require_apart_or_same("rescale_guidance", to, from);
  const Tensor<f32> squares = detail::squared_deviations(from);
  const Tensor<f32> wanted = detail::squared_deviations(positive.view());
  backend::map_values<SamplerStep>(
      to.reshaped(single), elementwise::RescaledGuidance{share, static_cast<f32>(values - 1)},
      from.reshaped(single), RowBroadcast{squares.view(), values}, RowBroadcast{wanted.view(), values});
}

/// Inpainting: out = mask latents + (1 - mask) (from_clean clean + from_noise noise). `out` may be any of
/// them. Throws ShapeError where the shapes differ.
inline void repaint_into(SamplerInput latents, SamplerInput clean, SamplerInput noise, SamplerInput mask,
                         const elementwise::Repainted& how, SamplerResult out,
                         const Context& context = current_context()) {
  detail::sampler_op("repaint", context, out, how, latents, clean, noise, mask);
}

/// A step of Euler's method: out = state + distance velocity. `out` may be either. Throws ShapeError where
/// the shapes differ.
inline void euler_step_into(SamplerInput state, SamplerInput velocity, f32 distance, SamplerResult out,
                            const Context& context = current_context()) {
  detail::sampler_op("euler_step", context, out, elementwise::EulerStep{distance}, state, velocity);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
