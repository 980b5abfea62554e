// The steps of language models by the clock: forward, forward and backward, and the optimiser's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <language_model/config.hpp>
#include <language_model/training_device.hpp>
#include <timing/runs.hpp>
#include <timing/timed_device.hpp>

#include <precast/memory/kept_memory.hpp>

namespace precast::timing {

/// Which parts of a step are measured.
struct Parts {
  bool forward = true, forward_backward = true, optimizer = true;
};

/// One line of the benchmark.
struct ModelCase {
  std::string size;    ///< a name of model_sizes()
  std::string policy;  ///< a name of language_model::training_policies()
  language_model::Architecture architecture = language_model::Architecture::llama;
  std::int64_t context = 128, batch = 4, warmup = 5, steps = 10;
  Parts parts{};

  /// The config of its model. Throws RequestError for an unknown size.
  language_model::LanguageModelConfig config() const;
};

/// A model with random values and the random tokens of a step.
class TrainingStep {
 public:
  /// In a dry run without the values. Throws what options and sizes do, and TrainingDevice::policy.
  explicit TrainingStep(const ModelCase& of,
                        const language_model::TrainingDevice& device = language_model::training_on_cpu());

  void forward() { model_->loss(windows_, batch_); }
  void forward_backward() { model_->loss(windows_, batch_, 1.0f); }
  /// AdamW's step with the gradients that are there.
  void optimizer();

 private:
  KeptMemory kept_memory_;  // before what takes memory: it gives back what that has freed
  std::unique_ptr<language_model::TrainedModel> model_;
  std::vector<std::int32_t> windows_;
  std::int64_t batch_, steps_ = 0;
};

/// What was measured of it.
struct ModelTimings {
  std::optional<Timing> forward, forward_backward, optimizer;
  std::int64_t memory = 0;  ///< the most bytes that tensors, scratch memory and free blocks held at once

  /// What the backward pass takes, where both others were measured.
  std::optional<Timing> backward() const;
};

/// The bytes of the device's memory that a case takes while its model is made and while it runs, as
/// language_model::needed_memory finds them. Throws what options and sizes do.
std::int64_t needed_memory(const ModelCase& of, const TimedDevice& device);

/// Measures a case with random values and random tokens. `before_run` is called before each run, and may
/// throw to stop. Throws what options and sizes do.
ModelTimings measure(const ModelCase& of, const TimedDevice& device, const BeforeRun& before_run);

/// How often `measure` calls `before_run`.
std::int64_t runs_of(const ModelCase& of);

}  // namespace precast::timing
