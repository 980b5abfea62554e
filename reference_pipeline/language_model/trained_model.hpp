// TrainedModel: a language model in training, for any policy and backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <language_model/config.hpp>
#include <language_model/parameters.hpp>

#include <precast/cluster/message_memory.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/problem/adamw_step.hpp>
#include <precast/problem/exponent_histogram.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/train/grad_scaler.hpp>

namespace precast::language_model {

/// State of the optimiser for one parameter, in its own dtype: "parameter.NAME", "mean.NAME" and
/// "square.NAME", as writable bytes.
struct StateTensor {
  std::string name;
  DtypeInfo dtype;
  Shape shape;
  std::span<std::byte> bytes;
};

/// Statistics of a step's gradients.
struct GradientFacts {
  double norm = 0;              ///< the global norm
  std::int64_t non_finite = 0;  ///< number of inf and NaN values
};

/// The distribution of a step's gradients by magnitude.
using GradientHistogram = ExponentHistogram;

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;

  /// The loss of windows [batch, context + 1] of tokens: mean cross entropy of each token given the
  /// previous ones. With a scale, also replaces the gradients by those of the loss times the scale.
  virtual double loss(std::span<const std::int32_t> windows, std::int64_t batch,
                      std::optional<f32> scale = {}) = 0;
  /// The logits of the token after these.
  virtual std::vector<f32> next_token(std::span<const std::int32_t> tokens) = 0;

  /// Sets a callback `hook(i)` that `loss` calls as soon as the gradient of parameter `i` is final.
  virtual void set_gradient_hook(std::function<void(std::size_t)> hook) = 0;
  /// The gradients with their parameters' names, in order, as bytes in the model's memory, which the host
  /// can access only on the CPU.
  virtual std::vector<StateTensor> gradient_tensors() = 0;
  /// The memory in which gradient messages between ranks are built.
  virtual std::unique_ptr<cluster::MessageMemory> message_memory() const = 0;
  /// Divides gradients by the scale, and returns their statistics.
  virtual GradientFacts unscale(const train::GradScaler& scaler) = 0;
  virtual void scale_gradients(f32 factor) = 0;
  virtual GradientHistogram histogram() = 0;
  /// AdamW step number `step`, counted from 1.
  virtual void step(const AdamWOptions& options, std::int64_t step) = 0;

  /// The optimiser's state, in the order of the parameters.
  virtual std::vector<StateTensor> state() = 0;
  /// Must be called after state was written.
  virtual void state_changed() = 0;
  virtual ParameterValues values() const = 0;
};

/// A policy for training, by name.
struct TrainingPolicy {
  std::string name;      ///< "amp-f16"
  std::string spelling;  ///< "Policy<Storage<f32>, Compute<f16>, Activation<f32>>"
  bool scales_loss = false;
  DtypeInfo gradient;  ///< the dtype of parameters' gradients
  std::unique_ptr<TrainedModel> (*make)(const LanguageModelConfig& config, const ValuesOf& values) = nullptr;
};

/// The policies of this build: those of policy/training_policies.hpp selected by PRECAST_TRAINING.
const std::vector<TrainingPolicy>& training_policies();
/// The policy of a text, parsed by training_choice_named. Throws InputError with the known names, and
/// PathNotCompiled for a policy that the build lacks.
const TrainingPolicy& training_policy(const std::string& name);

}  // namespace precast::language_model
