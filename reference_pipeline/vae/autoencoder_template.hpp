// AutoencoderKL's encoder and decoder as templates over the policy (Rombach et al. 2022). Only kernels/
// includes this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <vae/autoencoder.hpp>
#include <vae/autoencoder_blocks.hpp>
#include <vae/bands.hpp>

#include <precast/backend.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/conv.hpp>
#include <precast/nn/group_statistics.hpp>
#include <precast/nn/norm.hpp>
#include <precast/nn/widened.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/resample.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/watch/scope.hpp>

namespace precast::vae {

inline namespace PRECAST_BACKEND {

/// Whether norms of bands can use the whole picture's statistics. Sums with narrow accumulators cannot be
/// split without changing their result.
template <PolicyType P>
inline constexpr bool share_statistics = !is_narrow<precisions<P, Norm>>;

template <PolicyType P>
class DecoderTemplate final : public Decoder {
 public:
  using Activation = typename P::activation;

  DecoderTemplate(const AutoencoderConfig& config, const nn::ParameterPath& root)
      : config_(config),
        conv_in_(root / "decoder.conv_in", config.latent_channels, config.block_out_channels.back(), 3),
        mid_block_(root / "decoder.mid_block", config.block_out_channels.back(), config),
        norm_out_(root / "decoder.conv_norm_out", config.norm_num_groups, config.block_out_channels.front(),
                  norm_epsilon),
        conv_out_(root / "decoder.conv_out", config.block_out_channels.front(), config.out_channels, 3) {
    if (config.use_post_quant_conv)
      post_quant_.emplace(root / "post_quant_conv", config.latent_channels, config.latent_channels, 1);
    const auto& channels = config.block_out_channels;
    const auto count = static_cast<std::int64_t>(channels.size());
    std::int64_t before = channels.back();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t after = channels[static_cast<std::size_t>(count - 1 - i)];
      levels_.emplace_back(root / "decoder.up_blocks" / i, before, after, config.layers_per_block + 1,
                           config.norm_num_groups,
                           i + 1 < count ? Level<P>::Resolution::doubled : Level<P>::Resolution::kept);
      before = after;
    }
  }

  HostTensor<f32> decode(HostView<const f32> from, const Tiling& tiling) const override {
    const watch::Scope model("vae");
    const Arrived<f32> arrived(from);
    const View<const f32> latents = arrived.view();
    Tensor<Activation> x = [&] {
      if (!post_quant_) return watch::scoped("decoder.conv_in", [&] { return conv_in_(latents); });
      const auto unquantised = watch::scoped("post_quant_conv", [&] { return (*post_quant_)(latents); });
      return watch::scoped("decoder.conv_in", [&] { return conv_in_(unquantised); });
    }();
    const watch::Scope scope("decoder");
    x = mid_block_(std::move(x));
    const std::int64_t height = x.shape()[1], width = x.shape()[2];
    const auto bands_of = [&](std::size_t level) {
      return Bands(height << level, width << level, share_statistics<P> ? tiling : Tiling{});
    };
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      // A level in bands upsamples the previous level's picture on the fly, but no earlier one.
      const Level<P>* const before = i > 0 ? &levels_[i - 1] : nullptr;
      if (const Bands bands = bands_of(i); !bands.whole()) {
        std::optional<typename Level<P>::Unresized> unresized;
        if (before) {
          const watch::Scope level("up_blocks", static_cast<std::int64_t>(i) - 1);
          unresized.emplace(before->enlarged_later());
        }
        const watch::Scope level("up_blocks", static_cast<std::int64_t>(i));
        if constexpr (share_statistics<P>)
          x = levels_[i].blocks_in_bands(std::move(x), unresized ? &*unresized : nullptr, bands);
        continue;
      }
      if (before) {
        const watch::Scope level("up_blocks", static_cast<std::int64_t>(i) - 1);
        x = before->resized(std::move(x));
      }
      const watch::Scope level("up_blocks", static_cast<std::int64_t>(i));
      x = levels_[i].blocks(std::move(x));
    }
    if constexpr (share_statistics<P>)
      if (const Bands bands = bands_of(levels_.size() - 1); !bands.whole()) return last_in_bands(x, bands);
    x = watch::scoped("conv_norm_out", [&] { return norm_out_(x, ActivationFunction::silu); });
    return to_host(nn::widened(watch::scoped("conv_out", [&] { return conv_out_(x); })));
  }

 private:
  HostTensor<f32> last_in_bands(const Tensor<Activation>& x, const Bands& bands) const {
    const std::int64_t height = x.shape()[1], width = x.shape()[2];
    nn::GroupStatistics statistics = norm_out_.empty_statistics();
    bands.for_each_of_statistics(x.columns(), [&](const Rows& rows) { statistics.add(rows_of(x, rows)); });
    const Tensor<f32> moments = norm_out_.moments(statistics);
    HostTensor<f32> pixels(Shape{1, height, width, config_.out_channels});
    bands.for_each([&](const Rows& rows) {
      const auto in = rows_of(x, rows.read(height));
      const auto normed = watch::scoped(
          "conv_norm_out", [&] { return norm_out_.with(in, moments, ActivationFunction::silu); });
      const HostTensor<f32> band = to_host(nn::widened(
          watch::scoped("conv_out", [&] { return convolved<P>(conv_out_, normed, rows, height); })));
      if (!DryRun::active())
        std::ranges::copy(band.values(), pixels.data() + rows.first * width * config_.out_channels);
    });
    return pixels;
  }

  AutoencoderConfig config_;
  std::optional<nn::Conv2d<P>> post_quant_;
  nn::Conv2d<P> conv_in_;
  MidBlock<P> mid_block_;
  std::vector<Level<P>> levels_;
  nn::GroupNorm<P> norm_out_;
  nn::Conv2d<P> conv_out_;
};

template <PolicyType P>
class EncoderTemplate final : public Encoder {
 public:
  using Activation = typename P::activation;

  EncoderTemplate(const AutoencoderConfig& config, const nn::ParameterPath& root)
      : config_(config),
        conv_in_(root / "encoder.conv_in", config.in_channels, config.block_out_channels.front(), 3),
        mid_block_(root / "encoder.mid_block", config.block_out_channels.back(), config),
        norm_out_(root / "encoder.conv_norm_out", config.norm_num_groups, config.block_out_channels.back(),
                  norm_epsilon),
        conv_out_(root / "encoder.conv_out", config.block_out_channels.back(), 2 * config.latent_channels,
                  3) {
    const auto& channels = config.block_out_channels;
    std::int64_t before = channels.front();
    for (std::size_t i = 0; i < channels.size(); ++i) {
      levels_.emplace_back(
          root / "encoder.down_blocks" / static_cast<std::int64_t>(i), before, channels[i],
          config.layers_per_block, config.norm_num_groups,
          i + 1 < channels.size() ? Level<P>::Resolution::halved : Level<P>::Resolution::kept);
      before = channels[i];
    }
    if (config.use_quant_conv)
      quant_.emplace(root / "quant_conv", 2 * config.latent_channels, 2 * config.latent_channels, 1);
  }

  Moments encode(HostView<const f32> from, const Tiling& tiling) const override {
    const watch::Scope model("vae");
    const Arrived<f32> pixels(from);
    Tensor<Activation> x = watch::scoped("encoder.conv_in", [&] { return conv_in_(pixels.view()); });
    {
      const watch::Scope scope("encoder");
      for (std::size_t i = 0; i < levels_.size(); ++i) {
        const watch::Scope level("down_blocks", static_cast<std::int64_t>(i));
        const Bands bands(x.shape()[1], x.shape()[2], share_statistics<P> ? tiling : Tiling{});
        if constexpr (share_statistics<P>)
          x = bands.whole() ? levels_[i].blocks(std::move(x))
                            : levels_[i].blocks_in_bands(std::move(x), nullptr, bands);
        else
          x = levels_[i].blocks(std::move(x));
        x = levels_[i].resized(std::move(x));
      }
      x = mid_block_(std::move(x));
      x = watch::scoped("conv_norm_out", [&] { return norm_out_(x, ActivationFunction::silu); });
      x = watch::scoped("conv_out", [&] { return conv_out_(x); });
    }
    if (quant_) x = watch::scoped("quant_conv", [&] { return (*quant_)(x); });
    return {part(x, 0), part(x, 1)};
  }

 private:
  /// One half of the channels: 0 the means, 1 the log variances.
  HostTensor<f32> part(const Tensor<Activation>& x, std::int64_t half) const {
    return to_host(
        nn::widened(x.view().columns_between(half * config_.latent_channels, config_.latent_channels)));
  }

  AutoencoderConfig config_;
  nn::Conv2d<P> conv_in_;
  std::vector<Level<P>> levels_;
  MidBlock<P> mid_block_;
  nn::GroupNorm<P> norm_out_;
  nn::Conv2d<P> conv_out_;
  std::optional<nn::Conv2d<P>> quant_;
};

template <PolicyType P>
std::unique_ptr<Decoder> make_decoder(const AutoencoderConfig& config, const nn::ParameterSource& source) {
  return std::make_unique<DecoderTemplate<P>>(config, nn::ParameterPath(source));
}
template <PolicyType P>
std::unique_ptr<Encoder> make_encoder(const AutoencoderConfig& config, const nn::ParameterSource& source) {
  return std::make_unique<EncoderTemplate<P>>(config, nn::ParameterPath(source));
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::vae
