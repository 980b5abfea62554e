// Trainer: the steps of a training run, and the state that a checkpoint stores to resume it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <language_model/batches.hpp>
#include <language_model/trained_model.hpp>
#include <language_model/training_device.hpp>

#include <precast/cluster/communicator.hpp>
#include <precast/cluster/gradient_exchange.hpp>
#include <precast/io/safetensors.hpp>
#include <precast/memory/kept_memory.hpp>
#include <precast/problem/adamw_step.hpp>
#include <precast/train/grad_scaler.hpp>
#include <precast/train/schedule.hpp>

namespace precast::language_model {

struct TrainingOptions {
  std::string policy = "f32";
  std::int64_t steps = 200;
  AdamWOptions adamw{};
  std::optional<double> clip{};  ///< upper bound of the global gradient norm
  std::int64_t warmup = 0;
  train::Schedule schedule = train::Schedule::constant;
  train::GradScalerOptions scaler{};  ///< if the policy scales the loss

  /// Throws InputError for values out of range.
  void check() const;
};

/// Data parallelism over the ranks of a job: each rank has the whole model and its own windows, and steps
/// with the averaged gradients.
struct DataParallel {
  cluster::Communicator* job = nullptr;  ///< none: this process alone; must outlive the trainer
  std::size_t bucket_bytes = cluster::ExchangeOptions{}.bucket_bytes;
  std::optional<cluster::SumDtype> message{};  ///< dtype of gradient messages; none: the gradients' own
};

/// The results of a step. With several ranks, loss, norm and speed are global; the others are this
/// rank's.
struct StepFacts {
  std::int64_t step = 0;  ///< counted from 0
  double loss = 0, grad_norm = 0;
  double scale = 1;  ///< the loss scale of this step
  bool skipped = false;
  double lr = 0;
  double tokens_per_second = 0;
  std::int64_t memory = 0;                  ///< the peak of tensors' memory so far, in bytes
  std::int64_t non_finite = 0;              ///< number of inf and NaN values in gradients
  std::optional<double> validation_loss{};  ///< after the step, if computed
  int ranks = 1;
  cluster::ExchangeFacts exchange{};  ///< of gradients between ranks

  /// One line of JSON without a newline; inf and NaN as strings. With several ranks it has "ranks", and the
  /// seconds "all_reduce" and "all_reduce_wait"; in a comparison it begins with "policy".
  std::string json(const std::string& policy = "") const;
};

class Trainer {
 public:
  /// Trains on the CPU or another device, which is current for the calling thread during this object's
  /// lifetime: several trainers must be destroyed in reverse order. All ranks start with rank 0's values.
  /// Throws what options and sizes do, and TrainingDevice::policy.
  Trainer(const LanguageModelConfig& config, const TrainingOptions& options, const ParameterValues& values,
          const TrainingDevice& device = training_on_cpu(), const DataParallel& parallel = {});

  /// The number of the next step, counted from 0.
  std::int64_t next_step() const { return next_step_; }
  bool done() const { return next_step_ >= options_.steps; }
  /// Runs the next step: PyTorch's loop of autocast, GradScaler, clip_grad_norm_, AdamW and a schedule.
  /// `before_clipping` is called after unscaling and before clipping.
  StepFacts step(const Batches& batches, const std::function<void()>& before_clipping = {});

  /// The mean loss of held-out data, with `batch` windows per rank at a time.
  double loss_of(const HeldOut& held_out, std::int64_t batch);

  TrainedModel& model() { return *model_; }
  const LanguageModelConfig& config() const { return config_; }
  const TrainingOptions& options() const { return options_; }

  /// Atomically writes a file with all state needed to resume bit-identically, and the caller's text
  /// `settings` in its metadata. `before_it_appears` is called when the data is complete on disk under a
  /// temporary name; it may throw.
  void write_checkpoint(const std::filesystem::path& file, const std::string& settings = "",
                        const std::function<void()>& before_it_appears = {}) const;
  /// Restores a checkpoint: bit-identically with the same number of ranks, else with the same windows
  /// per step. Throws InputError if it is another model's or policy's, damaged, or differs between
  /// ranks.
  void read_checkpoint(const io::SafetensorsFile& file);
  /// Writes config.json and model.safetensors for transformers: f32, or f16 if the optimiser's parameters
  /// are f16. Each file is written atomically.
  void write_model(const std::filesystem::path& folder) const;
  /// Whether the folder's model equals this one bit for bit: a killed run may have left an earlier one.
  bool is_written(const std::filesystem::path& folder) const;

 private:
  KeptMemory kept_memory_;  // first: destroyed last, it returns the memory that the others freed
  LanguageModelConfig config_;
  TrainingOptions options_;
  TrainingDevice device_;
  std::unique_ptr<families::DeviceSession> session_;
  std::unique_ptr<TrainedModel> model_;
  train::GradScaler scaler_;
  std::int64_t next_step_ = 0;
  std::int64_t optimiser_steps_ = 0;  ///< without skipped ones
  DataParallel parallel_;
  std::unique_ptr<cluster::Communicator> joined_;      ///< of the ranks' devices, if these sum gradients
  std::optional<cluster::GradientExchange> exchange_;  ///< with several ranks
  std::int64_t windows_ = 0;                           ///< per step on all ranks; 0: no step yet
  std::optional<std::int64_t> ranks_before_;           ///< in the checkpoint that this run resumed from

  int ranks() const { return parallel_.job ? parallel_.job->size() : 1; }
  void share_state();
  void require_same_progress(const std::filesystem::path& path) const;
  void require_same_windows(const Batches& batches);
};

/// The name of a model's file in a transformers folder.
inline constexpr const char* model_file = "model.safetensors";

/// Opens a checkpoint and verifies its checksum. Throws InputError if it is truncated or damaged; there is
/// no source to download it from.
io::SafetensorsFile open_checkpoint(const std::filesystem::path& path);

/// The parameters in a checkpoint, as initial values of a run. Throws what open_checkpoint() throws, and
/// InputError if it is another model's.
ParameterValues values_of_checkpoint(const std::filesystem::path& path, const LanguageModelConfig& config);

}  // namespace precast::language_model
