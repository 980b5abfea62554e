#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <cli/train/train_memory.hpp>
#include <cluster/measure_link.hpp>
#include <language_model/batches.hpp>
#include <language_model/needed_memory.hpp>
#include <language_model/parameters.hpp>
#include <process/memory.hpp>

#include <precast/error.hpp>
#include <precast/io/number_text.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::cli {

namespace {

/// The windows of a step on one rank, and the tokens of each. Numbers that do not fit the model or the ranks
/// are refused later, when the data has been read.
std::pair<std::int64_t, std::int64_t> windows_of_step(const TrainOptions& options,
                                                      const language_model::LanguageModelConfig& config,
                                                      int ranks) {
  if (options.batches.empty())
    return {options.batch_size(), std::min(options.context_of(config), config.positions)};
  const Shape shape = language_model::shape_of_batches(options.batches);
  return {std::max<std::int64_t>(shape[1] / ranks, 1), std::min(shape[2] - 1, config.positions)};
}

}  // namespace

void require_memory(const TrainOptions& options, const language_model::LanguageModelConfig& config,
                    cluster::Communicator& job, const language_model::TrainingDevice& device,
                    const language_model::DataParallel& parallel) {
  const auto [batch, context] = windows_of_step(options, config, job.size());
  language_model::TrainingOptions training = options.training;
  std::int64_t bytes = 0;
  for (const std::string& policy : options.policies()) {
    training.policy = policy;
    bytes =
        std::max(bytes, language_model::needed_memory(config, training, batch, context, device, parallel));
  }
  bytes += device.backend->code_memory();
  const bool in_host_memory = device.backend->counted_memory() == DryRun::Counts::host_memory;
  const std::int64_t sharing = in_host_memory ? cluster::ranks_of_this_machine(job) : 1;
  const auto free_bytes = in_host_memory ? process::free_memory(sharing) : device.backend->free_memory();
  cluster::sum(job, 0);  // barrier: no rank allocates before all have seen what is free
  if (!free_bytes || bytes <= *free_bytes) return;
  const bool is_share = sharing > 1 && *free_bytes < process::free_memory().value_or(0);
  throw DoesNotFit(
      "a model of " + io::with_commas(elements_of(config)) + " parameters, with " +
      io::with_commas(batch * context) + " tokens a step, takes at least " + in_bytes(bytes) + "; " +
      in_bytes(*free_bytes) + " are free" +
      (is_share ? " for each of the " + std::to_string(sharing) + " ranks on this machine" : "") + ": try " +
      (!options.batches.empty() ? "--batches of fewer tokens a step, or a smaller model"
                                : "a smaller --width, --layers, --batch or --context") +
      (sharing > 1 ? ", or fewer ranks on a machine" : ""));
}

}  // namespace precast::cli
