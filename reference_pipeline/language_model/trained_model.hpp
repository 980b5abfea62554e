// TrainedModel: a language model while it is trained under one policy on one backend, behind one interface.
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

/// What an optimiser keeps of one parameter, in the dtype in which it keeps it: "parameter.NAME", "mean.NAME"
/// and "square.NAME", as bytes that may be written.
struct StateTensor {
  std::string name;
  DtypeInfo dtype;
  Shape shape;
  std::span<std::byte> bytes;
};

/// The gradients of a step.
struct GradientFacts {
  double norm = 0;              ///< of all of them together
  std::int64_t non_finite = 0;  ///< values that are inf or NaN
};

/// How large the gradients of a step are.
using GradientHistogram = ExponentHistogram;

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;

  /// The loss of windows [batch, context + 1] of tokens: the mean cross entropy of each token by those before
  /// it; and, where a scale is given, its gradients times the scale, which replace those of the step before.
  virtual double loss(std::span<const std::int32_t> windows, std::int64_t batch,
                      std::optional<f32> scale = {}) = 0;
  /// What the model says of the token after these.
  virtual std::vector<f32> next_token(std::span<const std::int32_t> tokens) = 0;

  /// From now on `is_whole(i)` is called in `loss` as soon as the gradient of parameter `i` changes no more.
  virtual void tell_whole_gradients(std::function<void(std::size_t)> is_whole) = 0;
  /// The gradients, under their parameters' names, in their order, as bytes of the memory that the model is
  /// in: the host reads and writes those of the CPU's alone.
  virtual std::vector<StateTensor> gradient_tensors() = 0;
  /// Where messages of these gradients between ranks are made.
  virtual std::unique_ptr<cluster::MessageMemory> message_memory() const = 0;
  /// Divides gradients by the scale, and says what they are then.
  virtual GradientFacts unscale(const train::GradScaler& scaler) = 0;
  virtual void scale_gradients(f32 factor) = 0;
  virtual GradientHistogram histogram() = 0;
  /// AdamW's step number `step`, counted from 1.
  virtual void step(const AdamWOptions& options, std::int64_t step) = 0;

  /// What the optimiser keeps, in the order of the parameters.
  virtual std::vector<StateTensor> state() = 0;
  /// Is told after state was written.
  virtual void state_changed() = 0;
  virtual ParameterValues values() const = 0;
};

/// A policy that models are trained under, by name.
struct TrainingPolicy {
  std::string name;      ///< "amp-f16"
  std::string spelling;  ///< "Policy<Storage<f32>, Compute<f16>, Activation<f32>>"
  bool scales_loss = false;
  DtypeInfo gradient;  ///< what the gradients of parameters are kept in
  std::unique_ptr<TrainedModel> (*make)(const LanguageModelConfig& config, const ValuesOf& values) = nullptr;
};

/// Those that this build holds: what PRECAST_TRAINING chose of policy/training_policies.hpp.
const std::vector<TrainingPolicy>& training_policies();
/// The policy that a text names, as training_choice_named reads it. Throws InputError with the names that
/// there are, and PathNotCompiled for a policy that the build lacks.
const TrainingPolicy& training_policy(const std::string& name);

}  // namespace precast::language_model
