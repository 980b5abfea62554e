// The Flux transformer, as a template over the policy. Only kernels/ includes this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <families/denoising_loop.hpp>
#include <families/timestep_embedding.hpp>
#include <flux/transformer.hpp>
#include <flux/transformer_blocks.hpp>

#include <precast/backend.hpp>
#include <precast/backend/replay.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/widened.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/rotary_table.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/ops/timestep_embedding.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/watch/scope.hpp>

namespace precast::flux {

inline namespace PRECAST_BACKEND {

/// Embeds time, guidance and pooled text.
using families::TimestepEmbedding;

/// FluxTransformer2DModel of diffusers, for one picture at a time.
template <PolicyType P>
class TransformerModel final : public BlockwiseTransformer {
 public:
  using Activation = typename P::activation;

  TransformerModel(const TransformerConfig& config, const nn::ParameterPath& place)
      : config_(config),
        latents_in_(place / "x_embedder", config.in_channels, config.inner_dim()),
        text_in_(place / "context_embedder", config.joint_attention_dim, config.inner_dim()),
        time_(place / "time_text_embed" / "timestep_embedder", time_channels, config.inner_dim()),
        pooled_(place / "time_text_embed" / "text_embedder", config.pooled_projection_dim,
                config.inner_dim()),
        norm_out_(place / "norm_out", config.inner_dim(), 2),
        out_(place / "proj_out", config.inner_dim(), config.out_channels) {
    if (config.guidance_embeds)
      guidance_ = std::make_unique<TimestepEmbedding<P>>(place / "time_text_embed" / "guidance_embedder",
                                                         time_channels, config.inner_dim());
    double_blocks_.reserve(static_cast<std::size_t>(config.num_layers));
    for (std::int64_t i = 0; i < config.num_layers; ++i)
      double_blocks_.emplace_back(place / double_name / i, config);
    single_blocks_.reserve(static_cast<std::size_t>(config.num_single_layers));
    for (std::int64_t i = 0; i < config.num_single_layers; ++i)
      single_blocks_.emplace_back(place / single_name / i, config);
  }

  HostTensor<f32> velocity(const TransformerInput& input) const override {
    check(input);
    const Prepared prepared(*this, input);
    const Tensor<f32> time = one_value(scaled_time(input.timestep));
    return to_host(predict(prepared, Arrived<f32>(input.latents).view(), time));
  }

  void denoise(HostView<f32> latents, const DenoiseInput& input,
               const BeforeStep& before_step) const override {
    TransformerInput positive = input.prediction;
    positive.latents = latents;
    check(positive);
    const Prepared prepared(*this, positive);
    Tensor<f32> state(latents.shape(), latents.values()), velocity(latents.shape()), time(Shape{1, 1});
    std::optional<Prepared> prepared_negative;
    std::optional<Tensor<f32>> negative_velocity;
    if (input.negative) {
      TransformerInput negative = positive;
      negative.prompt = input.negative->prompt;
      negative.pooled = input.negative->pooled;
      check(negative);
      prepared_negative.emplace(*this, negative);
      negative_velocity.emplace(latents.shape());
    }
    const Tensor<f32> times = scaled_times(input.steps);
    const auto predict_into = [&](const Prepared& of, Tensor<f32>& to) {
      const Tensor<f32> predicted = predict(of, state, time);
      backend::Memory::copy(to.data(), predicted.data(), bytes_of(to));
    };
    const auto predict_velocity = [&] {
      predict_into(prepared, velocity);
      if (!input.negative) return;
      predict_into(*prepared_negative, *negative_velocity);
      guide_into(*negative_velocity, velocity, input.negative->scale, velocity);
    };
    families::LatentsObserver observer(input.latents_callback, latents);
    const std::int64_t steps = families::steps_to_run(std::ssize(input.steps));
    backend::Replay replay;
    for (std::int64_t step = 0; step < steps; ++step) {
      const DenoiseStep& now = input.steps[static_cast<std::size_t>(step)];
      before_step(step);
      backend::Memory::copy(time.data(), times.data() + step, sizeof(f32));
      families::record(input.recording, step, now.timestep,
                       [&] { return block_state(prepared, positive, state, time); });
      if (watch::active())
        predict_velocity();  // an observer sees every op as it runs
      else
        replay(predict_velocity);
      euler_step_into(state, velocity, now.distance, state);
      observer.after(step + 1, steps, state);
    }
    backend::Memory::copy_to_host(latents.data(), state.data(), bytes_of(state));
  }

  families::BlockState state_before_blocks(const TransformerInput& input) const override {
    check(input);
    const Prepared prepared(*this, input);
    const Tensor<f32> time = one_value(scaled_time(input.timestep));
    return block_state(prepared, input, Arrived<f32>(input.latents).view(), time);
  }

  void run_blocks(families::BlockState& state, std::int64_t first, std::int64_t last) const override {
    const auto axes = static_cast<std::int64_t>(config_.axes_dims_rope.size());
    const std::int64_t count = config_.num_layers + config_.num_single_layers;
    if (first < 0 || last > count || first > last || state.hidden.columns() != config_.inner_dim() ||
        state.vec.shape() != Shape{1, config_.inner_dim()} ||
        state.positions.shape() != Shape{state.hidden.rows(), axes} || state.text_tokens < 0 ||
        state.text_tokens > state.hidden.rows())
      throw ShapeError("transformer: tokens " + to_string(state.hidden.shape()) + ", vec " +
                       to_string(state.vec.shape()) + " and positions " + to_string(state.positions.shape()) +
                       " for blocks " + std::to_string(first) + " to " + std::to_string(last) +
                       " do not fit " + std::to_string(count) + " blocks of width " +
                       std::to_string(config_.inner_dim()) + ": the state was recorded from another model");
    const watch::Scope model("transformer");
    const RotaryTable rotary = rotary_table(config_.axes_dims_rope, rope_theta, state.positions.values());
    const Tensor<Activation> conditioning = activate<P>(narrowed(state.vec), ActivationFunction::silu);
    Tensor<Activation> x = narrowed(state.hidden);
    through_blocks(x, {conditioning, rotary, state.text_tokens}, first, last);
    state.hidden = to_host(nn::widened(std::move(x)));
  }

  void replace_block(std::int64_t index, const nn::ParameterSource& source) override {
    const nn::ParameterPath place(source);
    if (const std::int64_t single = index - config_.num_layers; single < 0)
      double_blocks_.at(static_cast<std::size_t>(index)) =
          DoubleBlock<P>(place / double_name / index, config_);
    else
      single_blocks_.at(static_cast<std::size_t>(single)) =
          SingleBlock<P>(place / single_name / single, config_);
  }

 private:
  static constexpr std::string_view double_name = "transformer_blocks",
                                    single_name = "single_transformer_blocks";
  static constexpr std::int64_t time_channels = 256;
  static constexpr double rope_theta = 10000;

  void check(const TransformerInput& input) const {
    if (input.latents.columns() != config_.in_channels ||
        input.prompt.columns() != config_.joint_attention_dim ||
        input.pooled.columns() != config_.pooled_projection_dim ||
        input.latents.rows() != input.rows * input.columns)
      throw ShapeError(
          "transformer: latents " + to_string(input.latents.shape()) + ", prompt " +
          to_string(input.prompt.shape()) + " and pooled " + to_string(input.pooled.shape()) +
          " do not fit its config: the components of the model folder belong to different models");
  }

  /// The inputs that all steps of a picture share, in the backend's memory.
  struct Prepared {
    Prepared(const TransformerModel& model, const TransformerInput& input)
        : prompt(input.prompt),
          pooled(input.pooled),
          guidance(one_value(scaled_time(input.guidance))),
          rotary(rotary_table(model.config_.axes_dims_rope, rope_theta, positions(input).values())) {}

    Arrived<f32> prompt, pooled;
    Tensor<f32> guidance;
    RotaryTable rotary;
  };

  static std::size_t bytes_of(const Tensor<f32>& tensor) {
    return static_cast<std::size_t>(bytes_for<f32>(tensor.elements()));
  }
  /// Times and guidances are embedded as thousandths.
  static f32 scaled_time(f32 value) { return value * 1000; }
  /// The scaled times of all steps, so that no step needs data from the host.
  static Tensor<f32> scaled_times(std::span<const DenoiseStep> steps) {
    std::vector<f32> times;
    for (const DenoiseStep& step : steps) times.push_back(scaled_time(step.timestep));
    return Tensor<f32>(Shape{static_cast<std::int64_t>(times.size())}, times);
  }
  static Tensor<f32> one_value(f32 value) {
    return Tensor<f32>(Shape{1, 1}, std::span<const f32>(&value, 1));
  }

  /// Converts f32 values to Activation, which holds them exactly.
  static Tensor<Activation> narrowed(const HostTensor<f32>& values) {
    HostTensor<Activation> narrow(values.shape());
    host::convert_row<Activation>(values.values(), narrow.values());
    return arrived(std::move(narrow));
  }

  /// The inputs of the blocks.
  struct BlockInputs {
    Tensor<Activation> tokens;
    Tensor<Activation> vec;           ///< time + guidance + pooled text
    Tensor<Activation> conditioning;  ///< its silu: every modulation starts with it
  };

  /// The blocks' inputs at latents and a time [1, 1].
  BlockInputs before_blocks(const Prepared& prepared, View<const f32> latents, View<const f32> time) const {
    const std::int64_t text = prepared.prompt.view().rows(), image = latents.rows();
    Tensor<Activation> x(Shape{text + image, config_.inner_dim()});
    {
      const watch::Scope scope("x_embedder");
      latents_in_.into(latents, x.view().rows_between(text, image));
    }
    auto [vec, conditioning] = embed_conditioning(prepared, time);
    {
      const watch::Scope scope("context_embedder");
      text_in_.into(prepared.prompt.view(), x.view().rows_between(0, text));
    }
    return {std::move(x), std::move(vec), std::move(conditioning)};
  }

  /// The state before the first block at latents and a time [1, 1], for an input prepared before.
  families::BlockState block_state(const Prepared& prepared, const TransformerInput& input,
                                   View<const f32> latents, View<const f32> time) const {
    const watch::Scope model("transformer");
    BlockInputs inputs = before_blocks(prepared, latents, time);
    return {to_host(nn::widened(std::move(inputs.tokens))), input.prompt.rows(),
            to_host(nn::widened(std::move(inputs.vec))), positions(input)};
  }

  void through_blocks(Tensor<Activation>& x, const BlockContext<P>& context, std::int64_t first,
                      std::int64_t last) const {
    const std::int64_t doubles = config_.num_layers;
    for (std::int64_t i = first; i < std::min(last, doubles); ++i) {
      const watch::Scope scope(double_name, i);
      double_blocks_[static_cast<std::size_t>(i)](x, context);
    }
    for (std::int64_t i = std::max(first, doubles) - doubles; i < last - doubles; ++i) {
      const watch::Scope scope(single_name, i);
      single_blocks_[static_cast<std::size_t>(i)](x, context);
    }
  }

  /// The velocity at latents and a time [1, 1].
  Tensor<f32> predict(const Prepared& prepared, View<const f32> latents, View<const f32> time) const {
    const watch::Scope model("transformer");
    const std::int64_t text = prepared.prompt.view().rows(), image = latents.rows();
    BlockInputs inputs = before_blocks(prepared, latents, time);
    const Tensor<Activation>& x = inputs.tokens;
    const Tensor<Activation>& conditioning = inputs.conditioning;
    through_blocks(inputs.tokens, {conditioning, prepared.rotary, text}, 0,
                   config_.num_layers + config_.num_single_layers);
    const Tensor<Activation> normed = watch::scoped("norm_out", [&] {
      return norm_out_(conditioning).last().normed(x.view().rows_between(text, image));
    });
    return nn::widened(watch::scoped("proj_out", [&] { return out_(normed); }));
  }

  /// time + guidance + pooled text, and the silu of that.
  std::pair<Tensor<Activation>, Tensor<Activation>> embed_conditioning(const Prepared& prepared,
                                                                       View<const f32> time) const {
    const watch::Scope scope("time_text_embed");
    Tensor<Activation> sum = embed_number(time, time_, "timestep_embedder");
    if (guidance_) sum = add<P>(sum, embed_number(prepared.guidance, *guidance_, "guidance_embedder"));
    sum = add<P>(sum, watch::scoped("text_embedder", [&] { return pooled_(prepared.pooled.view()); }));
    Tensor<Activation> conditioning = activate<P>(sum, ActivationFunction::silu);
    return {std::move(sum), std::move(conditioning)};
  }

  static Tensor<Activation> embed_number(View<const f32> number, const TimestepEmbedding<P>& embedder,
                                         std::string_view name) {
    const watch::Scope scope(name);
    return embedder(timestep_embedding<P>(number, time_channels));
  }

  /// Text tokens are at the origin, image tokens at (0, row, column).
  static HostTensor<f32> positions(const TransformerInput& input) {
    HostTensor<f32> ids(Shape{input.prompt.rows() + input.latents.rows(), 3});
    if (DryRun::active()) return ids;
    std::fill(ids.values().begin(), ids.values().end(), 0.0f);
    f32* image = ids.data() + 3 * input.prompt.rows();
    for (std::int64_t row = 0; row < input.rows; ++row)
      for (std::int64_t column = 0; column < input.columns; ++column, image += 3) {
        image[1] = static_cast<f32>(row);
        image[2] = static_cast<f32>(column);
      }
    return ids;
  }

  TransformerConfig config_;
  nn::Linear<P> latents_in_, text_in_;
  TimestepEmbedding<P> time_, pooled_;
  std::unique_ptr<TimestepEmbedding<P>> guidance_;
  std::vector<DoubleBlock<P>> double_blocks_;
  std::vector<SingleBlock<P>> single_blocks_;
  Modulation<P> norm_out_;
  nn::Linear<P> out_;
};

template <PolicyType P>
std::unique_ptr<BlockwiseTransformer> make_transformer(const TransformerConfig& config,
                                                       const nn::ParameterSource& source) {
  return std::make_unique<TransformerModel<P>>(config, nn::ParameterPath(source));
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::flux
