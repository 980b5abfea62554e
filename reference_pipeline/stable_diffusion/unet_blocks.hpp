// The residual block of a UNet, with the time as input. Pictures are [n, height, width, channels].
#pragma once

#include <cstdint>
#include <optional>

#include <stable_diffusion/unet.hpp>

#include <precast/backend.hpp>
#include <precast/nn/conv.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/ops/add_per_sample.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

/// norm, silu, conv, plus the time, norm, silu, conv, and the residual, through a 1x1 convolution if
/// channels change.
template <PolicyType P>
class ResidualBlock {
 public:
  using Activation = typename P::activation;

  ResidualBlock(const nn::ParameterPath& place, std::int64_t in_channels, std::int64_t out_channels,
                const UNetConfig& config)
      : norm1_(place / "norm1", config.norm_groups, in_channels, config.norm_epsilon),
        norm2_(place / "norm2", config.norm_groups, out_channels, config.norm_epsilon),
        conv1_(place / "conv1", in_channels, out_channels, 3),
        conv2_(place / "conv2", out_channels, out_channels, 3),
        time_(place / "time_emb_proj", config.time_width, out_channels) {
    if (in_channels != out_channels) shortcut_.emplace(place / "conv_shortcut", in_channels, out_channels, 1);
  }

  /// `embedded_time`: silu of the time embedding, [n or 1, time_width].
  Tensor<Activation> operator()(View<const Activation> x, View<const Activation> embedded_time) const {
    const Tensor<Activation> time = watch::scoped("time_emb_proj", [&] { return time_(embedded_time); });
    Tensor<Activation> hidden = watch::scoped("norm1", [&] { return norm1_(x, ActivationFunction::silu); });
    hidden = watch::scoped("conv1", [&] { return conv1_(hidden); });
    hidden = add_per_sample<P>(hidden, time);
    hidden = watch::scoped("norm2", [&] { return norm2_(hidden, ActivationFunction::silu); });
    hidden = watch::scoped("conv2", [&] { return conv2_(hidden); });
    if (!shortcut_) return add<P>(x, hidden);
    return add<P>(watch::scoped("conv_shortcut", [&] { return (*shortcut_)(x); }), hidden);
  }

 private:
  nn::GroupNorm<P> norm1_, norm2_;
  nn::Conv2d<P> conv1_, conv2_;
  nn::Linear<P> time_;
  std::optional<nn::Conv2d<P>> shortcut_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
