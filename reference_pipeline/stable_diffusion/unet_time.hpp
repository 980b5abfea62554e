// The time embedding of a UNet, with guidance, pooled text and sizes added.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <families/timestep_embedding.hpp>
#include <stable_diffusion/unet.hpp>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/nn/linear.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/timestep_embedding.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

/// a [n or 1, C] + b [n or 1, C], where one row is broadcast.
template <PolicyType P>
Tensor<typename P::activation> add_rows(const Tensor<typename P::activation>& a,
                                        const Tensor<typename P::activation>& b) {
  if (a.rows() < b.rows()) return add_rows<P>(b, a);
  if (b.rows() == a.rows()) return add<P>(a, b);
  return add<P>(a, b.view().reshaped(Shape{b.columns()}));
}

using families::TimestepEmbedding;

/// The embedding of the time with the additional conditioning.
template <PolicyType P>
class UNetTime {
 public:
  using Activation = typename P::activation;

  UNetTime(const nn::ParameterPath& root, const UNetConfig& config)
      : channels_(config.levels.front().channels),
        time_id_channels_(config.time_id_channels),
        text_time_width_(config.text_time_width),
        guidance_channels_(config.guidance_channels),
        waves_{config.cosines_first, config.frequency_shift},
        time_(root / "time_embedding", channels_, config.time_width) {
    if (config.guidance_channels > 0)
      guidance_.emplace(root / "time_embedding" / "cond_proj", config.guidance_channels, channels_,
                        nn::Bias::absent);
    if (config.text_time)
      text_time_.emplace(root / "add_embedding", config.text_time_width, config.time_width);
  }

  /// The term for each conditioning's guidance, added to the sinusoids, [n, channels]; empty without one.
  Tensor<Activation> guidance(std::span<const Conditioning> conditionings) const {
    if (!guidance_ || !conditionings.front().guidance) return {};
    HostTensor<f32> waves(Shape{std::ssize(conditionings), guidance_channels_});
    for (std::size_t i = 0; i < conditionings.size() && !DryRun::active(); ++i)
      guidance_waves(conditionings[i].guidance.value_or(0), waves.view().row(static_cast<std::int64_t>(i)));
    const watch::Scope outer("time_embedding"), scope("cond_proj");
    return (*guidance_)(arrived(std::move(waves)));
  }

  /// The terms for each conditioning's pooled text and time ids, added to the time embedding, [n,
  /// time_width]; empty if the model has none.
  Tensor<Activation> text_and_sizes(std::span<const Conditioning> conditionings) const {
    if (!text_time_) return {};
    const auto count = std::ssize(conditionings);
    const auto ids = std::ssize(conditionings.front().time_ids);
    const std::int64_t pooled = text_time_width_ - ids * time_id_channels_;
    HostTensor<f32> texts(Shape{count, pooled}), numbers(Shape{count * ids});
    for (std::int64_t i = 0; i < count && !DryRun::active(); ++i) {
      const Conditioning& one = conditionings[static_cast<std::size_t>(i)];
      std::ranges::copy(one.pooled->values(), texts.view().row(i).begin());
      std::ranges::copy(one.time_ids, numbers.data() + i * ids);
    }
    const watch::Scope scope("add_embedding");
    Tensor<Activation> both(Shape{count, text_time_width_});
    copy_into<P>(arrived(std::move(texts)), both.view().columns_between(0, pooled));
    if (ids > 0) {
      const Tensor<Activation> waves =
          timestep_embedding<P>(arrived(std::move(numbers)), time_id_channels_, waves_)
              .reshaped(Shape{count, ids * time_id_channels_});
      copy_into<P>(waves, both.view().columns_between(pooled, ids * time_id_channels_));
    }
    return (*text_time_)(both);
  }

  /// silu of the embedding of time [1, 1] with the terms added, [n or 1, time_width].
  Tensor<Activation> operator()(View<const f32> time, const Tensor<Activation>& guidance,
                                const Tensor<Activation>& text_and_sizes) const {
    const watch::Scope scope("time_embedding");
    Tensor<Activation> waves = timestep_embedding<P>(time, channels_, waves_);
    if (guidance.elements() > 0) waves = add_rows<P>(waves, guidance);
    Tensor<Activation> embedded = time_(waves);
    if (text_and_sizes.elements() > 0) embedded = add_rows<P>(embedded, text_and_sizes);
    return activate<P>(embedded, ActivationFunction::silu);
  }

 private:
  /// The sinusoids, sines first, of the guidance in thousandths, with the f32 rounding of diffusers.
  static void guidance_waves(f32 guidance, std::span<f32> waves) {
    const std::size_t half = waves.size() / 2;
    const f32 step = std::log(10000.0f) / static_cast<f32>(half - 1);
    for (std::size_t i = 0; i < half; ++i) {
      const f32 frequency = static_cast<f32>(std::exp(static_cast<double>(static_cast<f32>(i) * -step)));
      const auto angle = static_cast<double>(guidance * 1000 * frequency);
      waves[i] = static_cast<f32>(std::sin(angle));
      waves[half + i] = static_cast<f32>(std::cos(angle));
    }
    if (waves.size() % 2 != 0) waves.back() = 0;
  }

  std::int64_t channels_, time_id_channels_, text_time_width_, guidance_channels_;
  TimestepWaves waves_;
  TimestepEmbedding<P> time_;
  std::optional<nn::Linear<P>> guidance_;
  std::optional<TimestepEmbedding<P>> text_time_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
