// UNet2DConditionModel, as a template over the policy. Only kernels/ includes this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stable_diffusion/unet.hpp>
#include <stable_diffusion/unet_levels.hpp>
#include <stable_diffusion/unet_time.hpp>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/nn/conv.hpp>
#include <precast/nn/norm.hpp>
#include <precast/nn/widened.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

/// What all steps of a picture share, in the backend's memory.
template <PolicyType P>
struct UNetInputs {
  using Activation = typename P::activation;
  std::int64_t pictures = 0;          ///< n, one for each conditioning
  PromptAttention<P> prompts;         ///< what each transformer block attends to
  Tensor<Activation> guidance;        ///< what it adds to the waves of the time; may be empty
  Tensor<Activation> text_and_sizes;  ///< what they add to the embedded time; may be empty
};

/// UNet2DConditionModel of diffusers, for one picture or several at a time.
template <PolicyType P>
class UNetModel final : public UNet {
 public:
  using Activation = typename P::activation;

  UNetModel(const UNetConfig& config, const nn::ParameterPath& root)
      : config_(config),
        in_(root / "conv_in", config.in_channels, config.levels.front().channels, 3),
        time_(root, config),
        norm_out_(root / "conv_norm_out", config.norm_groups, config.levels.front().channels,
                  config.norm_epsilon),
        out_(root / "conv_out", config.levels.front().channels, config.out_channels, 3) {
    const std::size_t count = config.levels.size();
    std::vector<std::int64_t> skips{config.levels.front().channels};
    down_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const UNetLevel& level = config.levels[i];
      const bool last = i + 1 == count;
      down_.emplace_back(root / "down_blocks" / static_cast<std::int64_t>(i), skips.back(), level, last,
                         config);
      skips.insert(skips.end(), static_cast<std::size_t>(level.layers + (last ? 0 : 1)), level.channels);
    }
    if (config.middle != UNetConfig::Middle::absent) middle_.emplace(root / "mid_block", config);
    std::int64_t channels = config.levels.back().channels;
    up_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const UNetLevel& level = config.levels[count - 1 - i];
      up_.emplace_back(root / "up_blocks" / static_cast<std::int64_t>(i), channels, level, i + 1 == count,
                       skips, config);
      channels = level.channels;
    }
  }

  const UNetConfig& config() const { return config_; }

  /// Brings what a picture is conditioned on to the backend, for any number of predictions. Throws ShapeError
  /// where it does not fit the config, or one conditioning the other.
  UNetInputs<P> prepare(std::span<const Conditioning> conditionings) const {
    check(conditionings);
    const watch::Scope model("unet");
    const Shape& prompt = conditionings.front().context.shape();
    HostTensor<f32> context(Shape{std::ssize(conditionings), prompt[0], prompt[1]});
    for (std::size_t i = 0; i < conditionings.size() && !DryRun::active(); ++i)
      std::ranges::copy(conditionings[i].context.values(),
                        context.data() + static_cast<std::int64_t>(i) * prompt.elements());
    Tensor<Activation> there(context.shape());
    copy_into<P>(arrived(std::move(context)), there.view());
    UNetInputs<P> inputs{
        std::ssize(conditionings), {}, time_.guidance(conditionings), time_.text_and_sizes(conditionings)};
    read_prompts(there, inputs.prompts);
    return inputs;
  }

  /// latents [1 or n, h, w, in_channels], time [1, 1] -> [n, h, w, out_channels], for the n conditionings of
  /// `inputs`. Takes nothing from the host. Throws ShapeError where latents do not fit.
  Tensor<f32> predict(const UNetInputs<P>& inputs, View<const f32> latents, View<const f32> time) const {
    check(latents.shape(), inputs.pictures);
    const watch::Scope model("unet");
    const Tensor<Activation> embedded = time_(time, inputs.guidance, inputs.text_and_sizes);
    PromptReader<P> prompts(inputs.prompts);
    const BlockConditions<P> conditions{embedded.view(), prompts};
    Skips<P> skips;
    skips.push_back(
        for_each_picture(watch::scoped("conv_in", [&] { return in_(latents); }), inputs.pictures));
    for (std::size_t i = 0; i < down_.size(); ++i) {
      const watch::Scope scope("down_blocks", static_cast<std::int64_t>(i));
      down_[i](skips, conditions);
    }
    Tensor<Activation> x =
        middle_ ? watch::scoped("mid_block", [&] { return (*middle_)(skips.back(), conditions); })
                : skips.back().clone();
    for (std::size_t i = 0; i < up_.size(); ++i) {
      const watch::Scope scope("up_blocks", static_cast<std::int64_t>(i));
      x = up_[i](std::move(x), skips, conditions);
    }
    x = watch::scoped("conv_norm_out", [&] { return norm_out_(x, ActivationFunction::silu); });
    return nn::widened(watch::scoped("conv_out", [&] { return out_(x); }));
  }

  using UNet::predict;
  HostTensor<f32> predict(HostView<const f32> latents, f32 timestep,
                          std::span<const Conditioning> conditionings) const override {
    const UNetInputs<P> inputs = prepare(conditionings);
    const Tensor<f32> time(Shape{1, 1}, std::span<const f32>(&timestep, 1));
    return to_host(predict(inputs, Arrived<f32>(latents).view(), time));
  }

 private:
  /// What transformer blocks have of the prompts, in the order of `predict`.
  void read_prompts(View<const Activation> context, PromptAttention<P>& prompts) const {
    for (std::size_t i = 0; i < down_.size(); ++i) {
      const watch::Scope scope("down_blocks", static_cast<std::int64_t>(i));
      down_[i].read_prompts(context, prompts);
    }
    if (middle_) watch::scoped("mid_block", [&] { middle_->read_prompts(context, prompts); });
    for (std::size_t i = 0; i < up_.size(); ++i) {
      const watch::Scope scope("up_blocks", static_cast<std::int64_t>(i));
      up_[i].read_prompts(context, prompts);
    }
  }

  /// The same picture once for each conditioning.
  static Tensor<Activation> for_each_picture(Tensor<Activation> x, std::int64_t pictures) {
    const Shape& shape = x.shape();
    if (shape[0] == pictures) return x;
    Tensor<Activation> all(Shape{pictures, shape[1], shape[2], shape[3]});
    for (std::int64_t i = 0; i < pictures; ++i)
      copy_into<P>(x, all.view().rows_between(i * x.rows(), x.rows()));
    return all;
  }

  void check(const Shape& latents, std::int64_t pictures) const {
    if (latents.rank() != 4 || latents[3] != config_.in_channels || latents.elements() == 0 ||
        (latents[0] != 1 && latents[0] != pictures))
      throw ShapeError("unet: latents " + to_string(latents) + " are not [1 or " + std::to_string(pictures) +
                       ", height, width, " + std::to_string(config_.in_channels) +
                       "], which the config and " + std::to_string(pictures) + " conditionings ask for");
  }

  void check(std::span<const Conditioning> conditionings) const {
    if (conditionings.empty()) throw ShapeError("unet: no conditioning is given: give the prompt's");
    const Conditioning& first = conditionings.front();
    for (const Conditioning& one : conditionings) {
      const Shape& context = one.context.shape();
      if (context.rank() != 2 || context[1] != config_.context_width || context[0] < 1)
        throw ShapeError("unet: a context of shape " + to_string(context) + " is not [tokens, " +
                         std::to_string(config_.context_width) +
                         "]: the text encoder and the UNet are not of one model");
      if (context != first.context.shape())
        throw ShapeError("unet: contexts " + to_string(first.context.shape()) + " and " + to_string(context) +
                         " differ: pad prompts to one length, or predict one after the other");
      if (one.guidance.has_value() != first.guidance.has_value() ||
          one.time_ids.size() != first.time_ids.size())
        throw ShapeError(
            "unet: conditionings differ in what they hold: give each a guidance and the same "
            "number of time ids, or none");
      if (config_.text_time) check_text_time(one);
    }
  }

  void check_text_time(const Conditioning& one) const {
    if (!one.pooled) throw ShapeError("unet: its config asks for pooled text (addition_embed_type): give it");
    const std::int64_t given = one.pooled->elements() + std::ssize(one.time_ids) * config_.time_id_channels;
    if (given != config_.text_time_width)
      throw ShapeError("unet: pooled text " + to_string(one.pooled->shape()) + " and " +
                       std::to_string(one.time_ids.size()) + " time ids of " +
                       std::to_string(config_.time_id_channels) + " values are " + std::to_string(given) +
                       " together, where the config asks for " + std::to_string(config_.text_time_width));
  }

  UNetConfig config_;
  nn::Conv2d<P> in_;
  UNetTime<P> time_;
  std::vector<DownLevel<P>> down_;
  std::optional<Middle<P>> middle_;
  std::vector<UpLevel<P>> up_;
  nn::GroupNorm<P> norm_out_;
  nn::Conv2d<P> out_;
};

template <PolicyType P>
std::unique_ptr<UNet> make_unet(const UNetConfig& config, const nn::ParameterSource& source) {
  return std::make_unique<UNetModel<P>>(config, nn::ParameterPath(source));
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
