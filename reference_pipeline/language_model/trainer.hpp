// Trainer: the steps of a training run, and all that a checkpoint must hold for a run to go on.
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
  std::optional<double> clip{};  ///< the most that the norm of all gradients may be
  std::int64_t warmup = 0;
  train::Schedule schedule = train::Schedule::constant;
  train::GradScalerOptions scaler{};  ///< where the policy scales the loss

  /// Throws InputError for what is out of range.
  void check() const;
};

/// How the ranks of a job share a training run: each has the whole model and windows of its own, and all step
/// by the means of their gradients.
struct DataParallel {
  cluster::Communicator* job = nullptr;  ///< none: this process alone; it must outlive the trainer
  std::size_t bucket_bytes = cluster::ExchangeOptions{}.bucket_bytes;
  std::optional<cluster::SumDtype> message{};  ///< what gradients travel in; none: their own dtype
};

/// What a step came to. In a job of several ranks loss, norm and speed are those of all together, the others
/// this rank's.
struct StepFacts {
  std::int64_t step = 0;  ///< counted from 0
  double loss = 0, grad_norm = 0;
  double scale = 1;  ///< that the loss was multiplied by in this step
  bool skipped = false;
  double lr = 0;
  double tokens_per_second = 0;
  std::int64_t memory = 0;                  ///< the most bytes that tensors held up to now
  std::int64_t non_finite = 0;              ///< values of gradients
  std::optional<double> validation_loss{};  ///< after the step, where it was asked for
  int ranks = 1;
  cluster::ExchangeFacts exchange{};  ///< of gradients between ranks

  /// A line of JSON without a newline; inf and NaN as texts. Of several ranks it has "ranks", and the seconds
  /// "all_reduce" and "all_reduce_wait"; of a comparison it begins with the "policy".
  std::string json(const std::string& policy = "") const;
};

class Trainer {
 public:
  /// On the CPU, or another device, which is readied for the calling thread as long as this lives: who has
  /// several ends the last one first. All ranks of a job begin with the values of rank 0. Throws what options
  /// and sizes do, and TrainingDevice::policy.
  Trainer(const LanguageModelConfig& config, const TrainingOptions& options, const ParameterValues& values,
          const TrainingDevice& device = training_on_cpu(), const DataParallel& parallel = {});

  /// The number of the next step, counted from 0.
  std::int64_t next_step() const { return next_step_; }
  bool done() const { return next_step_ >= options_.steps; }
  /// Takes the next step, as PyTorch's loop of autocast, GradScaler, clip_grad_norm_, AdamW and a schedule
  /// does. `before_clipping` is called when the model's gradients are unscaled, before `clip` changes them.
  StepFacts step(const Batches& batches, const std::function<void()>& before_clipping = {});

  /// The mean loss of what is held out, `batch` windows of each rank at a time.
  double loss_of(const HeldOut& held_out, std::int64_t batch);

  TrainedModel& model() { return *model_; }
  const LanguageModelConfig& config() const { return config_; }
  const TrainingOptions& options() const { return options_; }

  /// Everything that a run needs to go on with the same bits, in one file that appears whole or not at all;
  /// with `settings`, a text of the caller's, in its metadata. `before_it_appears` is called when all of it
  /// is on the disk, under another name, and may throw.
  void write_checkpoint(const std::filesystem::path& file, const std::string& settings = "",
                        const std::function<void()>& before_it_appears = {}) const;
  /// Goes on from there, with the same bits where there are as many ranks, else with the same windows a step.
  /// Throws InputError where the file is of another model or policy, or broken, or not the same for all
  /// ranks.
  void read_checkpoint(const io::SafetensorsFile& file);
  /// The same of what open_checkpoint() opens.
  void read_checkpoint(const std::filesystem::path& file);
  /// config.json and model.safetensors, as transformers reads them: f32, or f16 where the optimiser keeps
  /// parameters so. Each file appears whole or not at all.
  void write_model(const std::filesystem::path& folder) const;
  /// Whether the folder's model is this one, to the bit: a run that was killed may have left an earlier one.
  bool is_written(const std::filesystem::path& folder) const;

 private:
  KeptMemory kept_memory_;  // before what takes memory: it gives back what that has freed
  LanguageModelConfig config_;
  TrainingOptions options_;
  TrainingDevice device_;
  std::unique_ptr<families::DeviceSession> session_;
  std::unique_ptr<TrainedModel> model_;
  train::GradScaler scaler_;
  std::int64_t next_step_ = 0;
  std::int64_t optimiser_steps_ = 0;  ///< those that were not skipped
  DataParallel parallel_;
  std::unique_ptr<cluster::Communicator> joined_;      ///< the ranks' devices, where they are summed on
  std::optional<cluster::GradientExchange> exchange_;  ///< of several ranks
  std::int64_t windows_ = 0;                           ///< of all ranks in a step; 0: none was taken
  std::optional<std::int64_t> ranks_before_;           ///< of the checkpoint that this run goes on from

  int ranks() const { return parallel_.job ? parallel_.job->size() : 1; }
  void share_state();
  void require_same_progress(const std::filesystem::path& path) const;
  void require_same_windows(const Batches& batches);
};

/// What a folder of transformers calls its model.
inline constexpr const char* model_file = "model.safetensors";

/// The file of a checkpoint, read once for its checksum. Throws InputError where it is cut off or damaged:
/// there is nowhere to get it from.
io::SafetensorsFile open_checkpoint(const std::filesystem::path& path);

/// The values of a checkpoint's parameters, for a run that begins from them. Throws what open_checkpoint()
/// does, and InputError where it is of another model.
ParameterValues values_of_checkpoint(const std::filesystem::path& path, const LanguageModelConfig& config);

}  // namespace precast::language_model
