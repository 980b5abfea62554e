#include <algorithm>
#include <vector>

#include <language_model/needed_memory.hpp>

#include <precast/cluster/step_probe.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::language_model {

namespace {

/// Windows of zeros.
class ZeroTokens final : public Batches {
 public:
  ZeroTokens(std::int64_t batch, std::int64_t context) : batch_(batch), context_(context) {}

  std::vector<std::int32_t> step(std::int64_t) const override {
    return std::vector<std::int32_t>(static_cast<std::size_t>(batch_ * (context_ + 1)));
  }
  std::int64_t batch() const override { return batch_; }
  std::int64_t context() const override { return context_; }

 private:
  std::int64_t batch_, context_;
};

}  // namespace

std::int64_t needed_memory(const LanguageModelConfig& config, std::int64_t batch, std::int64_t context,
                           const families::Backend& device, const std::function<void()>& steps) {
  // A dry run allocates the token ids, which must not fill memory themselves: for more tokens, returns the
  // bytes of the logits alone, which no device can hold.
  constexpr std::int64_t most_tokens = std::int64_t{1} << 24;
  if (context > most_tokens / batch) return bytes_for<f32>(batch * context * config.vocabulary);
  const DryRun dry(device.counted_memory());
  steps();
  return dry.peak();
}

std::int64_t needed_memory(const LanguageModelConfig& config, const TrainingOptions& options,
                           std::int64_t batch, std::int64_t context, const TrainingDevice& device,
                           const DataParallel& parallel) {
  return needed_memory(config, batch, context, *device.backend, [&] {
    const DryHold values(bytes_for<f32>(elements_of(config)));
    // The dry run involves no other ranks, and does not connect to their devices.
    cluster::StepProbe other_ranks;
    DataParallel probed = parallel;
    if (parallel.job && parallel.job->size() > 1) probed.job = &other_ranks;
    TrainingDevice alone = device;
    alone.join = {};
    Trainer trainer(config, options, ParameterValues(parameters_of(config).size()), alone, probed);
    for (std::int64_t step = 0; step < steps_until_pool_is_full; ++step)
      trainer.step(ZeroTokens(batch, context));
  });
}

}  // namespace precast::language_model
