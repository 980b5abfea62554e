// The blocks shared by encoder and decoder: residual blocks, the middle block and its attention. All
// tensors are [1, height, width, channels].
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <vae/autoencoder.hpp>
#include <vae/bands.hpp>

#include <precast/backend.hpp>
#include <precast/nn/conv.hpp>
#include <precast/nn/group_statistics.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/watch/place.hpp>
#include <precast/watch/scope.hpp>

namespace precast::vae {

inline namespace PRECAST_BACKEND {

inline constexpr double norm_epsilon = 1e-6;

/// norm, silu, conv, norm, silu, conv, and the residual, through a 1x1 convolution if channels change.
template <PolicyType P>
class ResidualBlock {
 public:
  using Activation = typename P::activation;

  ResidualBlock(const nn::ParameterPath& place, std::int64_t in_channels, std::int64_t out_channels,
                std::int64_t groups)
      : norm1_(place / "norm1", groups, in_channels, norm_epsilon),
        norm2_(place / "norm2", groups, out_channels, norm_epsilon),
        conv1_(place / "conv1", in_channels, out_channels, 3),
        conv2_(place / "conv2", out_channels, out_channels, 3) {
    if (in_channels != out_channels) shortcut_.emplace(place / "conv_shortcut", in_channels, out_channels, 1);
  }

  Tensor<Activation> operator()(const Tensor<Activation>& x) const {
    Tensor<Activation> hidden = watch::scoped("norm1", [&] { return norm1_(x, ActivationFunction::silu); });
    hidden = watch::scoped("conv1", [&] { return conv1_(hidden); });
    hidden = watch::scoped("norm2", [&] { return norm2_(hidden, ActivationFunction::silu); });
    hidden = watch::scoped("conv2", [&] { return conv2_(hidden); });
    return added(x, hidden);
  }

  /// The same in bands, written to `to`, which may be the input's tensor. The first convolution runs twice:
  /// once for the second norm's statistics, once for its input.
  template <class Picture>
  void in_bands(const Picture& x, const Bands& bands, Tensor<Activation>& to) const {
    nn::GroupStatistics statistics1 = norm1_.empty_statistics(), statistics2 = norm2_.empty_statistics();
    bands.for_each_of_statistics(x.channels(), [&](const Rows& rows) { statistics1.add(x.rows(rows)); });
    const Tensor<f32> moments1 = norm1_.moments(statistics1);
    const auto hidden_rows = [&](const Rows& rows) {
      const auto in = x.rows(rows.read(x.height()));
      const auto normed =
          watch::scoped("norm1", [&] { return norm1_.with(in, moments1, ActivationFunction::silu); });
      return watch::scoped("conv1", [&] { return convolved<P>(conv1_, normed, rows, x.height()); });
    };
    bands.for_each_of_statistics(to.columns(), [&](const Rows& rows) { statistics2.add(hidden_rows(rows)); });
    const Tensor<f32> moments2 = norm2_.moments(statistics2);
    DelayedRows<Activation> out(to);
    bands.for_each([&](const Rows& rows) {
      Tensor<Activation> hidden = hidden_rows(rows.read(x.height()));
      hidden =
          watch::scoped("norm2", [&] { return norm2_.with(hidden, moments2, ActivationFunction::silu); });
      hidden = watch::scoped("conv2", [&] { return convolved<P>(conv2_, hidden, rows, x.height()); });
      out.write(added(x.rows(rows), hidden), rows);
    });
    out.flush();
  }

 private:
  template <ScalarArray X>
  Tensor<Activation> added(const X& x, const Tensor<Activation>& hidden) const {
    if (!shortcut_) return add<P>(x, hidden);
    return add<P>(watch::scoped("conv_shortcut", [&] { return (*shortcut_)(x); }), hidden);
  }

  nn::GroupNorm<P> norm1_, norm2_;
  nn::Conv2d<P> conv1_, conv2_;
  std::optional<nn::Conv2d<P>> shortcut_;
};

/// Single-head attention over all pixels, with a residual.
template <PolicyType P>
class PixelAttention {
 public:
  using Activation = typename P::activation;

  PixelAttention(const nn::ParameterPath& place, std::int64_t channels, std::int64_t groups)
      : norm_(place / "group_norm", groups, channels, norm_epsilon),
        query_(place / "to_q", channels, channels),
        key_(place / "to_k", channels, channels),
        value_(place / "to_v", channels, channels),
        out_(place / "to_out.0", channels, channels) {}

  Tensor<Activation> operator()(const Tensor<Activation>& x) const {
    const Shape pixels{1, x.rows(), x.columns()};
    const Tensor<Activation> normed =
        watch::scoped("group_norm", [&] { return norm_(x, ActivationFunction::none); }).reshaped(pixels);
    const Tensor<Activation> query = watch::scoped("to_q", [&] { return query_(normed); });
    const Tensor<Activation> key = watch::scoped("to_k", [&] { return key_(normed); });
    const Tensor<Activation> value = watch::scoped("to_v", [&] { return value_(normed); });
    const Tensor<Activation> attended = attention<P>(query, key, value, AttentionOptions{.heads = 1});
    const Tensor<Activation> projected =
        watch::scoped("to_out.0", [&] { return out_(attended); }).reshaped(x.shape());
    return add<P>(x, projected);
  }

 private:
  nn::GroupNorm<P> norm_;
  nn::Linear<P> query_, key_, value_, out_;
};

/// The middle of encoder and decoder: residual, attention if the config has it, residual.
template <PolicyType P>
class MidBlock {
 public:
  using Activation = typename P::activation;

  MidBlock(const nn::ParameterPath& place, std::int64_t channels, const AutoencoderConfig& config)
      : first_(place / "resnets.0", channels, channels, config.norm_num_groups),
        second_(place / "resnets.1", channels, channels, config.norm_num_groups) {
    if (config.mid_block_add_attention)
      attention_.emplace(place / "attentions.0", channels, config.norm_num_groups);
  }

  Tensor<Activation> operator()(Tensor<Activation> x) const {
    const watch::Scope scope("mid_block");
    x = watch::scoped("resnets.0", [&] { return first_(x); });
    if (attention_) x = watch::scoped("attentions.0", [&] { return (*attention_)(x); });
    return watch::scoped("resnets.1", [&] { return second_(x); });
  }

 private:
  ResidualBlock<P> first_, second_;
  std::optional<PixelAttention<P>> attention_;
};

/// A level of the encoder or decoder: residual blocks, then a change of resolution unless it is the last.
template <PolicyType P>
class Level {
 public:
  using Activation = typename P::activation;
  enum class Resolution { kept, halved, doubled };

  Level(const nn::ParameterPath& place, std::int64_t in_channels, std::int64_t out_channels,
        std::int64_t blocks, std::int64_t groups, Resolution change)
      : out_channels_(out_channels), change_(change) {
    for (std::int64_t i = 0; i < blocks; ++i)
      blocks_.emplace_back(place / "resnets" / i, i == 0 ? in_channels : out_channels, out_channels, groups);
    if (change != Resolution::kept)
      resample_.emplace(place / (change == Resolution::halved ? "downsamplers.0.conv" : "upsamplers.0.conv"),
                        out_channels, out_channels, 3);
  }

  /// The residual blocks.
  Tensor<Activation> blocks(Tensor<Activation> x) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const watch::Scope scope("resnets", static_cast<std::int64_t>(i));
      x = blocks_[i](x);
    }
    return x;
  }

  /// A level whose resampling is deferred, and its path in the model.
  struct Unresized {
    const Level& level;
    watch::Place place;
  };
  /// The same in bands. `before`: a level whose upsampling is computed on the fly, or null.
  Tensor<Activation> blocks_in_bands(Tensor<Activation> x, const Unresized* before,
                                     const Bands& bands) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const watch::Scope scope("resnets", static_cast<std::int64_t>(i));
      const auto into_another = [&](const auto& picture) {
        Tensor<Activation> out(Shape{1, picture.height(), picture.width(), out_channels_});
        blocks_[i].in_bands(picture, bands, out);
        x = std::move(out);
      };
      if (i == 0 && before)
        into_another(EnlargedPicture<P>{x, *before->level.resample_, before->place});
      else if (x.shape()[3] != out_channels_)
        into_another(WholePicture<Activation>{x});
      else
        blocks_[i].in_bands(WholePicture<Activation>{x}, bands, x);
    }
    return x;
  }

  /// This level, with its upsampling deferred until it is read.
  Unresized enlarged_later() const {
    const watch::Scope scope("upsamplers.0");
    return {*this, watch::Place()};
  }

  /// Resamples x: halves or doubles its resolution.
  Tensor<Activation> resized(Tensor<Activation> x) const {
    if (change_ == Resolution::halved) {
      const watch::Scope scope("downsamplers.0.conv");
      return resample_->with(x, {.stride = 2, .pad_bottom = 1, .pad_right = 1});
    }
    if (change_ == Resolution::doubled) {
      const watch::Scope scope("upsamplers.0");
      x = upsample_nearest<P>(x, 2);
      return watch::scoped("conv", [&] { return (*resample_)(x); });
    }
    return x;
  }

 private:
  std::vector<ResidualBlock<P>> blocks_;
  std::optional<nn::Conv2d<P>> resample_;
  std::int64_t out_channels_;
  Resolution change_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::vae
