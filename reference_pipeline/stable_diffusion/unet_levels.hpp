// The levels of a UNet: on the way down, in the middle and on the way up. Pictures are [n, height, width,
// channels].
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <stable_diffusion/unet.hpp>
#include <stable_diffusion/unet_blocks.hpp>
#include <stable_diffusion/unet_transformer.hpp>

#include <precast/backend.hpp>
#include <precast/nn/conv.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/resample.hpp>
#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

/// What all blocks of one prediction share.
template <PolicyType P>
struct BlockConditions {
  View<const typename P::activation> time;  ///< silu of the embedded time, [n or 1, time_width]
  PromptReader<P>& prompts;
};

/// What the way down leaves for the way up, the latest last.
template <PolicyType P>
using Skips = std::vector<Tensor<typename P::activation>>;

/// A residual block and perhaps a transformer behind it.
template <PolicyType P>
class Layer {
 public:
  using Activation = typename P::activation;

  /// Layer `index` of a level, which attends where it has a depth: its transformer's blocks.
  Layer(const nn::ParameterPath& place, std::int64_t index, std::int64_t in_channels, const UNetLevel& level,
        std::optional<std::int64_t> depth, const UNetConfig& config)
      : index_(index), residual_(place / "resnets" / index, in_channels, level.channels, config) {
    if (depth) transformer_.emplace(place / "attentions" / index, *depth, level, config);
  }

  /// Adds what its transformer has of the prompts.
  void read_prompts(View<const Activation> context, PromptAttention<P>& prompts) const {
    const watch::Scope scope("attentions", index_);
    if (transformer_) transformer_->read_prompts(context, prompts);
  }

  Tensor<Activation> operator()(View<const Activation> x, const BlockConditions<P>& conditions) const {
    Tensor<Activation> result = [&] {
      const watch::Scope scope("resnets", index_);
      return residual_(x, conditions.time);
    }();
    if (!transformer_) return result;
    const watch::Scope scope("attentions", index_);
    return (*transformer_)(result, conditions.prompts);
  }

 private:
  std::int64_t index_;
  ResidualBlock<P> residual_;
  std::optional<PictureTransformer<P>> transformer_;
};

/// A level on the way down: layers, and a convolution that halves the picture unless it is the last.
template <PolicyType P>
class DownLevel {
 public:
  using Activation = typename P::activation;

  DownLevel(const nn::ParameterPath& place, std::int64_t in_channels, const UNetLevel& level, bool last,
            const UNetConfig& config) {
    layers_.reserve(static_cast<std::size_t>(level.layers));
    for (std::int64_t i = 0; i < level.layers; ++i)
      layers_.emplace_back(place, i, i == 0 ? in_channels : level.channels, level, level.depth_down(i),
                           config);
    if (!last) halve_.emplace(place / "downsamplers.0.conv", level.channels, level.channels, 3);
  }

  void read_prompts(View<const Activation> context, PromptAttention<P>& prompts) const {
    for (const Layer<P>& layer : layers_) layer.read_prompts(context, prompts);
  }

  /// Goes on from the latest skip, and leaves each result as one.
  void operator()(Skips<P>& skips, const BlockConditions<P>& conditions) const {
    for (const Layer<P>& layer : layers_) skips.push_back(layer(skips.back(), conditions));
    if (!halve_) return;
    const watch::Scope scope("downsamplers.0.conv");
    skips.push_back(halve_->with(
        skips.back(), {.stride = 2, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1}));
  }

 private:
  std::vector<Layer<P>> layers_;
  std::optional<nn::Conv2d<P>> halve_;
};

/// The middle: a residual block, and where it attends a transformer and a second one.
template <PolicyType P>
class Middle {
 public:
  using Activation = typename P::activation;

  Middle(const nn::ParameterPath& place, const UNetConfig& config)
      : first_(place / "resnets.0", config.levels.back().channels, config.levels.back().channels, config) {
    if (config.middle != UNetConfig::Middle::attention) return;
    const UNetLevel& level = config.levels.back();
    transformer_.emplace(place / "attentions.0", config.middle_depth, level, config);
    second_.emplace(place / "resnets.1", level.channels, level.channels, config);
  }

  void read_prompts(View<const Activation> context, PromptAttention<P>& prompts) const {
    const watch::Scope scope("attentions.0");
    if (transformer_) transformer_->read_prompts(context, prompts);
  }

  Tensor<Activation> operator()(View<const Activation> x, const BlockConditions<P>& conditions) const {
    Tensor<Activation> result = watch::scoped("resnets.0", [&] { return first_(x, conditions.time); });
    if (!transformer_) return result;
    result = watch::scoped("attentions.0", [&] { return (*transformer_)(result, conditions.prompts); });
    return watch::scoped("resnets.1", [&] { return (*second_)(result, conditions.time); });
  }

 private:
  ResidualBlock<P> first_;
  std::optional<PictureTransformer<P>> transformer_;
  std::optional<ResidualBlock<P>> second_;
};

/// A level on the way up: layers that each take a skip beside what came before, and a convolution behind an
/// enlargement to the size of the next skip unless it is the last.
template <PolicyType P>
class UpLevel {
 public:
  using Activation = typename P::activation;

  /// `skips` has the channels of those that wait, and loses those that this level takes.
  UpLevel(const nn::ParameterPath& place, std::int64_t in_channels, const UNetLevel& level, bool last,
          std::vector<std::int64_t>& skips, const UNetConfig& config) {
    layers_.reserve(static_cast<std::size_t>(level.layers + 1));
    for (std::int64_t i = 0; i <= level.layers; ++i, skips.pop_back())
      layers_.emplace_back(place, i, (i == 0 ? in_channels : level.channels) + skips.back(), level,
                           level.depth_up(i), config);
    if (!last) enlarge_.emplace(place / "upsamplers.0.conv", level.channels, level.channels, 3);
  }

  void read_prompts(View<const Activation> context, PromptAttention<P>& prompts) const {
    for (const Layer<P>& layer : layers_) layer.read_prompts(context, prompts);
  }

  Tensor<Activation> operator()(Tensor<Activation> x, Skips<P>& skips,
                                const BlockConditions<P>& conditions) const {
    for (const Layer<P>& layer : layers_) {
      const Tensor<Activation> both = joined(std::move(x), std::move(skips.back()));
      skips.pop_back();
      x = layer(both, conditions);
    }
    if (!enlarge_) return x;
    const watch::Scope scope("upsamplers.0");
    const Shape& size = skips.back().shape();
    Tensor<Activation> large(Shape{size[0], size[1], size[2], x.columns()});
    upsample_nearest_into<P>(x, 2, large.view());
    x = {};
    return watch::scoped("conv", [&] { return (*enlarge_)(large); });
  }

 private:
  /// The channels of both side by side.
  static Tensor<Activation> joined(Tensor<Activation> first, Tensor<Activation> second) {
    Tensor<Activation> both(first.shape().with_back(first.columns() + second.columns()));
    copy_into<P>(first, both.view().columns_between(0, first.columns()));
    copy_into<P>(second, both.view().columns_between(first.columns(), second.columns()));
    return both;
  }

  std::vector<Layer<P>> layers_;
  std::optional<nn::Conv2d<P>> enlarge_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
