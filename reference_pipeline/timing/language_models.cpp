#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <language_model/needed_memory.hpp>
#include <language_model/splitmix64.hpp>
#include <language_model/trained_model.hpp>
#include <process/memory.hpp>
#include <timing/language_models.hpp>
#include <timing/model_sizes.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>

namespace precast::timing {

namespace {

using language_model::LanguageModelConfig;
using language_model::ParameterFacts;

/// Number `place` of a sequence without a pattern.
std::uint64_t mixed(std::uint64_t place) {
  return language_model::splitmix64(place * language_model::splitmix64_step);
}

/// Values of the deviation that a parameter begins with, from number `first` of the sequence on. They are
/// uniform: no time depends on that, and drawing normal ones would take longer than measuring.
std::vector<f32> random_values(const ParameterFacts& facts, std::uint64_t first) {
  constexpr std::int64_t at_once = 1 << 16;
  std::vector<f32> values(static_cast<std::size_t>(facts.shape.elements()));
  const std::int64_t count = std::ssize(values);
  const double half_width = facts.deviation * 1.7320508075688772;
  host::parallel_for(ceil_divide(count, at_once), [&](std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * at_once);
    for (std::int64_t i = task * at_once; i < end; ++i) {
      const double part = static_cast<double>(mixed(first + static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
      values[static_cast<std::size_t>(i)] =
          facts.deviation == 0 ? facts.first_value : static_cast<f32>((2 * part - 1) * half_width);
    }
  });
  return values;
}

/// Windows [batch, context + 1] of random tokens.
std::vector<std::int32_t> random_windows(const LanguageModelConfig& config, const ModelCase& of) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(of.batch * (of.context + 1)));
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(mixed(i) % static_cast<std::uint64_t>(config.vocabulary));
  return tokens;
}

constexpr AdamWOptions optimizer_options{};

}  // namespace

LanguageModelConfig ModelCase::config() const {
  return model_config(model_size(size), architecture, context);
}

TrainingStep::TrainingStep(const ModelCase& of, const language_model::TrainingDevice& device)
    : batch_(of.batch) {
  const LanguageModelConfig config = of.config();
  const std::vector<ParameterFacts> parameters = parameters_of(config);
  const language_model::TrainingPolicy& policy = device.policy(of.policy);
  windows_ = random_windows(config, of);
  DryHold values;  // of one parameter, until it has its own
  std::uint64_t first = 0;
  model_ = policy.make(config, [&](std::size_t i) {
    const std::int64_t count = parameters[i].shape.elements();
    values = DryHold(count * std::int64_t{sizeof(f32)});
    if (DryRun::active()) return std::vector<f32>();
    return random_values(parameters[i], std::exchange(first, first + static_cast<std::uint64_t>(count)));
  });
}

void TrainingStep::optimizer() { model_->step(optimizer_options, ++steps_); }

std::optional<Timing> ModelTimings::backward() const {
  if (!forward || !forward_backward) return std::nullopt;
  return difference(*forward_backward, *forward);
}

std::int64_t needed_memory(const ModelCase& of, const TimedDevice& device) {
  return language_model::needed_memory(of.config(), of.batch, of.context, device.backend(), [&] {
    TrainingStep step(of, device.training);
    // In the order of the measurement, and repeated until the pool is full.
    const std::int64_t runs =
        std::min<std::int64_t>(language_model::steps_until_pool_is_full, of.warmup + of.steps);
    for (std::int64_t run = 0; run < runs && of.parts.forward; ++run) step.forward();
    for (std::int64_t run = 0; run < runs && of.parts.forward_backward; ++run) step.forward_backward();
    if (of.parts.optimizer && !of.parts.forward_backward) step.forward_backward();
    if (of.parts.optimizer) step.optimizer();
  });
}

ModelTimings measure(const ModelCase& of, const TimedDevice& device, const BeforeRun& before_run) {
  process::give_back_memory();
  device.backend().reset_peak_memory();
  TrainingStep step(of, device.training);
  const auto timed = [&](auto&& work) {
    return measured(
        of.warmup, of.steps, before_run, [&] { device.wait(); }, work);
  };
  ModelTimings timings;
  if (of.parts.forward) timings.forward = timed([&] { step.forward(); });
  if (of.parts.forward_backward) timings.forward_backward = timed([&] { step.forward_backward(); });
  if (of.parts.optimizer) {
    if (!of.parts.forward_backward) step.forward_backward();
    timings.optimizer = timed([&] { step.optimizer(); });
  }
  timings.memory = device.backend().memory_use().most_held;
  return timings;
}

std::int64_t runs_of(const ModelCase& of) {
  const int parts = int{of.parts.forward} + int{of.parts.forward_backward} + int{of.parts.optimizer};
  return parts * (of.warmup + of.steps);
}

}  // namespace precast::timing
