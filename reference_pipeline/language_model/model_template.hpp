// GPT2LMHeadModel and LlamaForCausalLM in training, as templates over the policy. Only kernels/ includes
// this.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <type_traits>

#include <language_model/compiled_model.hpp>
#include <language_model/layers.hpp>

#include <precast/ops/loss.hpp>
#include <precast/ops/loss_gradient.hpp>
#include <precast/train/clip.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
class TrainedModelTemplate final : public TrainedModel {
 public:
  using Activation = typename P::activation;
  using Parameter = TrainedParameter<P>;
  using Master = typename Parameter::Master;

  TrainedModelTemplate(const LanguageModelConfig& config, const ParameterValues& values) : config_(config) {
    const std::vector<ParameterFacts> facts = parameters_of(config);
    if (facts.size() != values.size()) throw Error("a language model is given values of other parameters");
    parameters_.reserve(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) parameters_.emplace_back(facts[i], values[i]);
  }

  double loss(std::span<const std::int32_t> windows, std::int64_t batch, f32 scale) override {
    const auto length = static_cast<std::int64_t>(windows.size()) / batch - 1;
    require_length(length);
    std::vector<std::int32_t> inputs, targets;
    for (std::int64_t row = 0; row < batch; ++row) {
      const auto window =
          windows.subspan(static_cast<std::size_t>(row * (length + 1)), static_cast<std::size_t>(length + 1));
      inputs.insert(inputs.end(), window.begin(), window.end() - 1);
      targets.insert(targets.end(), window.begin() + 1, window.end());
    }
    train::Tape tape;
    for (Parameter& parameter : parameters_) parameter.begin_step();
    const Layers<P> layers(scale != 0 ? &tape : nullptr);
    const Value<P> hidden = hidden_states(layers, std::move(inputs), batch);
    const Value<P> logits = layers.linear(hidden, head());
    const View<const Activation> rows =
        std::as_const(logits->value).view().reshaped({batch * length, config_.vocabulary});
    const auto loss = cross_entropy<P>(rows, targets);
    if (scale != 0) {
      logits->gradient = Tensor<Activation>(logits->value.shape());
      cross_entropy_gradient_into<P>(rows, targets, CrossEntropyOptions{}, scale,
                                     logits->gradient->view().reshaped(rows.shape()));
      if (!gradient_is_whole_) {
        tape.backward();
      } else {
        std::vector<bool> was_whole(parameters_.size());
        tape.backward([&] {
          for (std::size_t i = parameters_.size(); i-- > 0;) {
            if (was_whole[i] || !parameters_[i].gradient_is_whole()) continue;
            was_whole[i] = true;
            gradient_is_whole_(i);
          }
        });
      }
    }
    return DryRun::active() ? 0 : static_cast<double>(loss.values()[0]);
  }

  std::vector<f32> next_token(std::span<const std::int32_t> tokens) override {
    const auto length = static_cast<std::int64_t>(tokens.size());
    require_length(length);
    const Layers<P> layers(nullptr);
    const Value<P> hidden = hidden_states(layers, {tokens.begin(), tokens.end()}, 1);
    const View<const Activation> last =
        std::as_const(hidden->value).view().reshaped({length, config_.width}).rows_between(length - 1, 1);
    Tensor<Activation> logits(Shape{1, config_.vocabulary});
    linear_into<P>(last, head().weight(), logits.view());
    std::vector<f32> result;
    for (const Activation value : logits.values()) result.push_back(convert<f32>(value));
    return result;
  }

  void tell_whole_gradients(std::function<void(std::size_t)> is_whole) override {
    gradient_is_whole_ = std::move(is_whole);
  }
  std::vector<StateTensor> gradients() override {
    std::vector<StateTensor> all;
    for (Parameter& parameter : parameters_)
      all.push_back({parameter.facts().name, dtype_info<Master>, parameter.gradient().shape(),
                     std::as_writable_bytes(parameter.gradient().values())});
    return all;
  }

  GradientFacts unscale(const train::GradScaler& scaler) override {
    GradientFacts facts;
    double squares = 0;
    for (Parameter& parameter : parameters_) {
      facts.non_finite += scaler.unscale(parameter.gradient().values());
      squares += train::sum_of_squares(std::as_const(parameter).gradient().values());
    }
    facts.norm = std::sqrt(squares);
    return facts;
  }
  void scale_gradients(f32 factor) override {
    for (Parameter& parameter : parameters_) train::scale_gradients(parameter.gradient().values(), factor);
  }
  GradientHistogram histogram() const override {
    GradientHistogram all;
    for (const Parameter& parameter : parameters_)
      for (const auto gradient : parameter.gradient().values()) {
        const f32 value = convert<f32>(gradient);
        if (value == 0)
          ++all.zeros;
        else if (!std::isfinite(value))
          ++all.non_finite;
        else
          ++all.counts[static_cast<std::size_t>(std::ilogb(value) - GradientHistogram::lowest)];
      }
    return all;
  }
  void step(const train::AdamWOptions& options, std::int64_t step) override {
    for (Parameter& parameter : parameters_) {
      train::adamw_step<Master>(parameter.master().values(), std::as_const(parameter).gradient().values(),
                                parameter.mean().values(), parameter.square().values(), options, step,
                                parameter.facts().is_matrix());
      parameter.master_changed();
    }
  }

  std::vector<StateTensor> state() override {
    std::vector<StateTensor> all;
    for (Parameter& parameter : parameters_) {
      const auto add = [&](const std::string& kind, Tensor<Master>& tensor) {
        all.push_back({kind + parameter.facts().name, dtype_info<Master>, tensor.shape(),
                       std::as_writable_bytes(tensor.values())});
      };
      add("parameter.", parameter.master());
      add("mean.", parameter.mean());
      add("square.", parameter.square());
    }
    return all;
  }
  void state_changed() override {
    for (Parameter& parameter : parameters_) parameter.master_changed();
  }
  ParameterValues values() const override {
    ParameterValues all;
    for (const Parameter& parameter : parameters_) {
      std::vector<f32>& values = all.emplace_back();
      for (const Master value : parameter.master().values()) values.push_back(convert<f32>(value));
    }
    return all;
  }

 private:
  void require_length(std::int64_t length) const {
    if (length < 1 || length > config_.positions)
      throw InputError("a context of " + std::to_string(length) + " tokens is not from 1 to the model's " +
                       std::to_string(config_.positions) + ": choose another --context");
  }

  /// The table of embeddings where the head is tied to it.
  Parameter& head() { return config_.tied ? parameters_.front() : parameters_.back(); }

  /// What the head reads: [batch, length, width] after the last norm.
  Value<P> hidden_states(const Layers<P>& layers, std::vector<std::int32_t> tokens, std::int64_t batch) {
    return config_.architecture == Architecture::gpt2 ? gpt2(layers, std::move(tokens), batch)
                                                      : llama(layers, std::move(tokens), batch);
  }

  // Parameters are taken in the order of parameters_of().
  Value<P> gpt2(const Layers<P>& layers, std::vector<std::int32_t> tokens, std::int64_t batch) {
    Parameter* next = parameters_.data();
    Value<P> x = layers.embed(next[0], std::move(tokens), batch);
    x = layers.add_positions(x, next[1]);
    next += 2;
    const AttentionOptions options{.heads = config_.heads, .causal = true};
    for (std::int64_t i = 0; i < config_.layers; ++i, next += 12) {
      const Value<P> normed = layers.layer_norm(x, next[0], next[1], config_.norm_eps);
      const Value<P> attended = layers.attention_of_one(layers.linear(normed, next[2], &next[3]), options);
      x = layers.sum(x, layers.linear(attended, next[4], &next[5]));
      const Value<P> again = layers.layer_norm(x, next[6], next[7], config_.norm_eps);
      const Value<P> inner = layers.gelu(layers.linear(again, next[8], &next[9]));
      x = layers.sum(x, layers.linear(inner, next[10], &next[11]));
    }
    return layers.layer_norm(x, next[0], next[1], config_.norm_eps);
  }

  Value<P> llama(const Layers<P>& layers, std::vector<std::int32_t> tokens, std::int64_t batch) {
    const auto length = static_cast<std::int64_t>(tokens.size()) / batch;
    std::vector<f32> places(static_cast<std::size_t>(length));
    std::iota(places.begin(), places.end(), 0.0f);
    const auto table = std::make_shared<const RotaryTable>(
        rotary_table_of_halves(config_.head_width, config_.rope_theta, places));
    Parameter* next = parameters_.data();
    Value<P> x = layers.embed(next[0], std::move(tokens), batch);
    next += 1;
    const AttentionOptions options{.heads = config_.heads, .heads_kv = config_.heads_kv, .causal = true};
    for (std::int64_t i = 0; i < config_.layers; ++i, next += 9) {
      const Value<P> normed = layers.rms_norm(x, next[0], config_.norm_eps);
      const Value<P> q = layers.rotate(layers.linear(normed, next[1]), config_.heads, table);
      const Value<P> k = layers.rotate(layers.linear(normed, next[2]), config_.heads_kv, table);
      const Value<P> attended = layers.attention(q, k, layers.linear(normed, next[3]), options);
      x = layers.sum(x, layers.linear(attended, next[4]));
      const Value<P> again = layers.rms_norm(x, next[5], config_.norm_eps);
      const Value<P> inner = layers.swiglu(layers.linear(again, next[6]), layers.linear(again, next[7]));
      x = layers.sum(x, layers.linear(inner, next[8]));
    }
    return layers.rms_norm(x, next[0], config_.norm_eps);
  }

  LanguageModelConfig config_;
  std::vector<Parameter> parameters_;
  std::function<void(std::size_t)> gradient_is_whole_;
};

template <PolicyType P>
std::unique_ptr<TrainedModel> make_trained_model(const LanguageModelConfig& config,
                                                 const ParameterValues& values) {
  return std::make_unique<TrainedModelTemplate<P>>(config, values);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model
