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
#include <stable_diffusion/unet_modules.hpp>
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

/// The inputs common to all steps of a picture, in the backend's memory.
template <PolicyType P>
struct UNetInputs {
  using Activation = typename P::activation;
  std::int64_t pictures = 0;          ///< n, one for each conditioning
  PromptAttention<P> prompts;         ///< keys and values of the prompts for each transformer block
  Tensor<Activation> guidance;        ///< added to the sinusoids of the time; may be empty
  Tensor<Activation> text_and_sizes;  ///< added to the time embedding; may be empty
};

/// diffusers' UNet2DConditionModel, for one or several pictures at a time. A denoising loop stays on the
/// backend with it:
///
///   UNetModel<P> unet(config, nn::ParameterPath(source));
///   const UNetInputs<P> inputs = unet.prepare(conditionings);  // {negative, prompt}, or one: for all steps
///   Tensor<f32> predicted = unet.predict(inputs, latents, time);
///
/// A prediction is fully recorded by backend::Replay.
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
    for (const UNetStage& stage : stages_of(config)) stages_.emplace_back(stage, root, config);
  }

  const UNetConfig& config() const { return config_; }

  /// Copies conditionings to the backend, for any number of predictions. Throws ShapeError if they do not
  /// match the config or each other.
  UNetInputs<P> prepare(std::span<const Conditioning> conditionings) const {
    check(conditionings);
    const watch::Scope model("unet");
    const Tensor<Activation> context = narrowed(contexts(conditionings));
    UNetInputs<P> inputs{
        std::ssize(conditionings), {}, time_.guidance(conditionings), time_.text_and_sizes(conditionings)};
    inputs.prompts = read_prompts(context, 0, stages_.size());
    return inputs;
  }

  /// latents [1 or n, h, w, in_channels], time [1, 1] -> [n, h, w, out_channels], for the n conditionings
  /// of `inputs`, in their order. Copies nothing from the host. Throws ShapeError if the latents do not
  /// match.
  Tensor<f32> predict(const UNetInputs<P>& inputs, View<const f32> latents, View<const f32> time) const {
    check(latents.shape(), inputs.pictures);
    const watch::Scope model("unet");
    const Tensor<Activation> embedded = time_(time, inputs.guidance, inputs.text_and_sizes);
    StageState<P> state;
    state.skips.push_back(first_skip(inputs, latents));
    PromptReader<P> prompts(inputs.prompts);
    const BlockConditions<P> conditions{embedded.view(), prompts};
    for (const StageModule<P>& module : stages_) module(state, conditions);
    const Tensor<Activation> normed =
        watch::scoped("conv_norm_out", [&] { return norm_out_(state.latest(), ActivationFunction::silu); });
    state = {};
    return nn::widened(watch::scoped("conv_out", [&] { return out_(normed); }));
  }

  /// The state before the first stage of `predict` with these arguments; `inputs` must be prepared from
  /// `conditionings`.
  families::BlockState state_before_blocks(const UNetInputs<P>& inputs,
                                           std::span<const Conditioning> conditionings,
                                           View<const f32> latents, View<const f32> time) const {
    check(latents.shape(), inputs.pictures);
    const watch::Scope model("unet");
    families::BlockState state;
    state.vec = to_host(nn::widened(time_(time, inputs.guidance, inputs.text_and_sizes)));
    state.hidden = to_host(nn::widened(first_skip(inputs, latents)));
    state.prompt = contexts(conditionings);
    return state;
  }

  void run_blocks(families::BlockState& state, std::int64_t first, std::int64_t last) const override {
    check(state, first, last);
    if (first == last) return;
    const watch::Scope model("unet");
    const Tensor<Activation> time = narrowed(state.vec.clone());
    const PromptAttention<P> prompts = read_prompts(
        narrowed(state.prompt.clone()), static_cast<std::size_t>(first), static_cast<std::size_t>(last));
    StageState<P> running;
    if (first == 0) state.skips = {std::make_shared<const HostTensor<f32>>(state.hidden.clone())};
    for (const auto& skip : state.skips) running.skips.push_back(narrowed(skip->clone()));
    running.result = narrowed(std::move(state.hidden));
    PromptReader<P> reader(prompts);
    const BlockConditions<P> conditions{time, reader};
    for (std::int64_t i = first; i < last; ++i) {
      const StageModule<P>& module = stages_[static_cast<std::size_t>(i)];
      module(running, conditions);
      if (module.stage().takes_skip) state.skips.pop_back();
      if (module.stage().leaves_skip)
        state.skips.push_back(
            std::make_shared<const HostTensor<f32>>(to_host(nn::widened(running.skips.back().clone()))));
    }
    state.hidden = running.result.elements() > 0 ? to_host(nn::widened(std::move(running.result)))
                                                 : state.skips.back()->clone();
  }

  void replace_block(std::int64_t index, const nn::ParameterSource& source) override {
    StageModule<P>& module = stages_.at(static_cast<std::size_t>(index));
    module = StageModule<P>(UNetStage(module.stage()), nn::ParameterPath(source), config_);
  }

  using UNet::predict;
  HostTensor<f32> predict(HostView<const f32> latents, f32 timestep,
                          std::span<const Conditioning> conditionings) const override {
    const UNetInputs<P> inputs = prepare(conditionings);
    const Tensor<f32> time(Shape{1, 1}, std::span<const f32>(&timestep, 1));
    return to_host(predict(inputs, Arrived<f32>(latents).view(), time));
  }

 private:
  /// [n, tokens, context_width]
  static HostTensor<f32> contexts(std::span<const Conditioning> conditionings) {
    const Shape& prompt = conditionings.front().context.shape();
    HostTensor<f32> all(Shape{std::ssize(conditionings), prompt[0], prompt[1]});
    for (std::size_t i = 0; i < conditionings.size() && !DryRun::active(); ++i)
      std::ranges::copy(conditionings[i].context.values(),
                        all.data() + static_cast<std::int64_t>(i) * prompt.elements());
    return all;
  }

  static Tensor<Activation> narrowed(HostTensor<f32> values) {
    Tensor<Activation> there(values.shape());
    copy_into<P>(arrived(std::move(values)), there.view());
    return there;
  }

  /// The keys and values of the prompts for the transformers in stages [first, last).
  PromptAttention<P> read_prompts(View<const Activation> context, std::size_t first, std::size_t last) const {
    PromptAttention<P> prompts;
    for (std::size_t i = first; i < last; ++i) stages_[i].read_prompts(context, prompts);
    return prompts;
  }

  /// The input of the first stage: [n, h, w, channels].
  Tensor<Activation> first_skip(const UNetInputs<P>& inputs, View<const f32> latents) const {
    return for_each_picture(watch::scoped("conv_in", [&] { return in_(latents); }), inputs.pictures);
  }

  /// Repeats one picture for each conditioning.
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

  void check(const families::BlockState& state, std::int64_t first, std::int64_t last) const {
    const auto count = std::ssize(stages_);
    const auto fits = [&] {
      if (first < 0 || last > count || first > last) return false;
      const Shape &hidden = state.hidden.shape(), &vec = state.vec.shape(), &prompt = state.prompt.shape();
      if (hidden.rank() != 4 || hidden.elements() == 0 || vec.rank() != 2 || prompt.rank() != 3) return false;
      if (prompt[0] != hidden[0] || prompt[1] < 1 || prompt[2] != config_.context_width) return false;
      if ((vec[0] != 1 && vec[0] != hidden[0]) || vec[1] != config_.time_width) return false;
      const std::vector<UNetStage> stages = stages_of(config_);
      const std::vector<std::int64_t> skips = skips_before(config_, stages, static_cast<std::size_t>(first));
      const std::int64_t channels =
          first == 0 ? skips.back() : stages[static_cast<std::size_t>(first) - 1].out_channels;
      if (hidden[3] != channels) return false;
      return first == 0 || std::ranges::equal(state.skips, skips, [&](const auto& skip, std::int64_t of) {
               return skip && skip->shape().rank() == 4 && skip->shape()[0] == hidden[0] &&
                      skip->columns() == of;
             });
    };
    if (!fits())
      throw ShapeError("unet: hidden " + to_string(state.hidden.shape()) + ", vec " +
                       to_string(state.vec.shape()) + ", prompt " + to_string(state.prompt.shape()) +
                       " and " + std::to_string(state.skips.size()) + " skips for blocks " +
                       std::to_string(first) + " to " + std::to_string(last) + " do not fit its " +
                       std::to_string(count) + " blocks: the state was recorded from another model");
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
  std::vector<StageModule<P>> stages_;
  nn::GroupNorm<P> norm_out_;
  nn::Conv2d<P> out_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
