// GPT2LMHeadModel and LlamaForCausalLM for training, as templates over the policy. Only kernels/ includes
// this.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <type_traits>

#include <language_model/compiled_model.hpp>
#include <language_model/device_messages.hpp>
#include <language_model/layers.hpp>

#include <precast/backend/exponent_histogram.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/loss_gradient.hpp>
#include <precast/train/optimiser.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
class TrainedModelTemplate final : public TrainedModel {
 public:
  using Activation = typename P::activation;
  using Parameter = TrainedParameter<P>;
  using Master = typename Parameter::Master;
  using Gradient = typename Parameter::Gradient;

  TrainedModelTemplate(const LanguageModelConfig& config, const ValuesOf& values) : config_(config) {
    const std::vector<ParameterFacts> facts = parameters_of(config);
    parameters_.reserve(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) parameters_.emplace_back(facts[i], values(i));
  }

  double loss(std::span<const std::int32_t> windows, std::int64_t batch, std::optional<f32> scale) override {
    fetched_.clear();
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
    const Layers<P> layers(scale ? &tape : nullptr);
    const Value<P> hidden = hidden_states(layers, std::move(inputs), batch);
    const Value<P> logits = layers.linear(hidden, head());
    const View<const Activation> rows =
        std::as_const(logits->value).view().reshaped({batch * length, config_.vocabulary});
    const auto loss = cross_entropy<P>(rows, targets);
    if (scale) {
      logits->gradient = Tensor<Activation>(logits->value.shape());
      cross_entropy_gradient_into<P>(*scale, rows, targets, CrossEntropyOptions{},
                                     logits->gradient->view().reshaped(rows.shape()));
      if (!gradient_hook_) {
        tape.backward();
      } else {
        std::vector<bool> was_ready(parameters_.size());
        tape.backward([&] {
          for (std::size_t i = parameters_.size(); i-- > 0;) {
            if (was_ready[i] || !parameters_[i].is_gradient_ready()) continue;
            was_ready[i] = true;
            gradient_hook_(i);
          }
        });
      }
    }
    return DryRun::active() ? 0 : static_cast<double>(to_host(loss).data()[0]);
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
    for_each_value(logits, [&](Activation value) { result.push_back(convert<f32>(value)); });
    return result;
  }

  void set_gradient_hook(std::function<void(std::size_t)> hook) override { gradient_hook_ = std::move(hook); }
  std::vector<StateTensor> gradient_tensors() override {
    std::vector<StateTensor> all;
    for (Parameter& parameter : parameters_) {
      const View<Gradient> values = parameter.gradient().view();
      all.push_back({parameter.facts().name,
                     dtype_info<Gradient>,
                     values.shape(),
                     {reinterpret_cast<std::byte*>(values.data()),
                      static_cast<std::size_t>(values.elements()) * sizeof(Gradient)}});
    }
    return all;
  }
  std::unique_ptr<cluster::MessageMemory> message_memory() const override {
    if constexpr (backend::Memory::on_host)
      return std::make_unique<cluster::HostMessages>();
    else
      return std::make_unique<DeviceMessages<Gradient>>();
  }

  GradientFacts unscale(const train::GradScaler& scaler) override {
    const GradientSums sums = train::unscale<Gradient>(gradients(), scaler);
    return {std::sqrt(sums.squares), sums.non_finite};
  }
  void scale_gradients(f32 factor) override { train::scale_gradients<Gradient>(gradients(), factor); }
  GradientHistogram histogram() override {
    GradientHistogram all;
    for (const View<Gradient>& gradient : gradients()) backend::count_exponents<Gradient>(gradient, all);
    return all;
  }
  void step(const AdamWOptions& options, std::int64_t step) override {
    std::vector<AdamWArrays<Master, typename Parameter::Storage>> all;
    for (Parameter& parameter : parameters_) all.push_back(parameter.arrays());
    train::adamw_step<Master, typename Parameter::Storage>(all, options, step);
  }

  std::vector<StateTensor> state() override {
    std::vector<StateTensor> all;
    fetched_.clear();
    for_each_state([&](const std::string& name, Tensor<Master>& tensor) {
      all.push_back({name, dtype_info<Master>, tensor.shape(), std::as_writable_bytes(bytes_of(tensor))});
    });
    return all;
  }
  void state_changed() override {
    if constexpr (!backend::Memory::on_host) {
      auto from = fetched_.begin();
      for_each_state([&](const std::string&, Tensor<Master>& tensor) {
        tensor.upload(0, std::as_const(*from++).values());
      });
      fetched_.clear();
    }
    for (Parameter& parameter : parameters_) parameter.master_changed();
  }
  ParameterValues values() const override {
    ParameterValues all;
    for (const Parameter& parameter : parameters_) {
      std::vector<f32>& values = all.emplace_back();
      for_each_value(parameter.master(), [&](Master value) { values.push_back(convert<f32>(value)); });
    }
    return all;
  }

 private:
  void require_length(std::int64_t length) const {
    if (length < 1 || length > config_.positions)
      throw InputError("a context of " + std::to_string(length) + " tokens is not from 1 to the model's " +
                       std::to_string(config_.positions) + ": choose another --context");
  }

  std::vector<View<Gradient>> gradients() {
    std::vector<View<Gradient>> all;
    for (Parameter& parameter : parameters_) all.push_back(parameter.gradient().view());
    return all;
  }

  /// Calls `visitor(value)` for each value of a tensor, which is copied to the host if necessary.
  template <ScalarDtype T, class Memory, class Visitor>
  static void for_each_value(const Tensor<T, Memory>& tensor, Visitor&& visitor) {
    if constexpr (Memory::on_host)
      for (const T value : tensor.values()) visitor(value);
    else
      for_each_value(to_host(tensor), visitor);
  }

  /// Calls `visitor(name, tensor)` for the optimiser's state.
  template <class Visitor>
  void for_each_state(Visitor&& visitor) {
    for (Parameter& parameter : parameters_) {
      visitor("parameter." + parameter.facts().name, parameter.master());
      visitor("mean." + parameter.facts().name, parameter.mean());
      visitor("square." + parameter.facts().name, parameter.square());
    }
  }
  /// A tensor's values, writable by the host: its own, or a copy that state_changed() writes back.
  std::span<Master> bytes_of(Tensor<Master>& tensor) {
    if constexpr (backend::Memory::on_host)
      return tensor.values();
    else
      return fetched_.emplace_back(to_host(std::as_const(tensor))).values();
  }

  /// The head's weight: the token embedding if tied.
  Parameter& head() { return config_.tied ? parameters_.front() : parameters_.back(); }

  /// The head's input: [batch, length, width] after the last norm.
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
    for (std::int64_t i = 0; i < config_.layers; ++i, next += 12) {
      const AttentionOptions options{
          .heads = config_.heads, .scale = static_cast<f32>(config_.score_scale(i)), .causal = true};
      const Value<P> normed = layers.layer_norm(x, next[0], next[1], config_.norm_eps);
      const Value<P> attended = layers.attention_of_one(layers.linear(normed, next[2], &next[3]), options);
      x = layers.sum(x, layers.linear(attended, next[4], &next[5]));
      const Value<P> again = layers.layer_norm(x, next[6], next[7], config_.norm_eps);
      const Value<P> wide = layers.linear(again, next[8], &next[9]);
      const Value<P> inner = config_.activation == ActivationFunction::gelu_erf
                                 ? layers.template activate<elementwise::GeluErf>(wide)
                                 : layers.template activate<elementwise::GeluTanh>(wide);
      x = layers.sum(x, layers.linear(inner, next[10], &next[11]));
    }
    return layers.layer_norm(x, next[0], next[1], config_.norm_eps);
  }

  Value<P> llama(const Layers<P>& layers, std::vector<std::int32_t> tokens, std::int64_t batch) {
    const auto length = static_cast<std::int64_t>(tokens.size()) / batch;
    std::vector<f32> places(static_cast<std::size_t>(length));
    std::iota(places.begin(), places.end(), 0.0f);
    const auto table = std::make_shared<const RotaryTableOfHalves>(
        rotary_table_of_halves(scaled(rotary_frequencies(config_.head_width, config_.rope_theta),
                                      config_.rope_theta, config_.rotary_scaling),
                               places, config_.rotary_scaling.attention_factor));
    Parameter* next = parameters_.data();
    Value<P> x = layers.embed(*next++, std::move(tokens), batch, config_.padding);
    const auto norm = [&](const Value<P>& of) { return layers.rms_norm(of, *next++, config_.norm_eps); };
    const auto linear = [&](const Value<P>& of, bool has_bias) {
      Parameter& weight = *next++;
      return layers.linear(of, weight, has_bias ? next++ : nullptr);
    };
    const AttentionOptions options{.heads = config_.heads, .heads_kv = config_.heads_kv, .causal = true};
    for (std::int64_t i = 0; i < config_.layers; ++i) {
      const Value<P> normed = norm(x);
      const Value<P> q = layers.rotary(linear(normed, config_.attention_bias), table);
      const Value<P> k = layers.rotary(linear(normed, config_.attention_bias), table);
      const Value<P> v = linear(normed, config_.attention_bias);
      const Value<P> attended = layers.attention(q, k, v, options);
      x = layers.sum(x, linear(attended, config_.attention_bias));
      const Value<P> again = norm(x);
      const Value<P> gate = linear(again, config_.mlp_bias);
      const Value<P> up = linear(again, config_.mlp_bias);
      x = layers.sum(x, linear(layers.swiglu(gate, up), config_.mlp_bias));
    }
    return norm(x);
  }

  LanguageModelConfig config_;
  std::vector<Parameter> parameters_;
  std::vector<HostTensor<Master>> fetched_;  ///< copies of the state for state(), if it is not on the host
  std::function<void(std::size_t)> gradient_hook_;
};

template <PolicyType P>
std::unique_ptr<TrainedModel> make_trained_model(const LanguageModelConfig& config, const ValuesOf& values) {
  return std::make_unique<TrainedModelTemplate<P>>(config, values);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model
