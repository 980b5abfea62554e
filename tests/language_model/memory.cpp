// What training is said to take before it begins is what it takes.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <language_model/needed_memory.hpp>
#include <language_model/parameters.hpp>
#include <language_model/trainer.hpp>
#include <process/memory.hpp>

#include <precast/cluster/step_probe.hpp>

namespace precast::language_model {

namespace {

LanguageModelConfig config_of(Architecture architecture) {
  LanguageModelConfig config;
  config.architecture = architecture;
  config.vocabulary = 1000;
  config.positions = 64;
  config.width = 256;
  config.layers = 3;
  config.heads = config.heads_kv = 4;
  config.head_width = 64;
  config.inner = 1024;
  return config;
}

/// Windows of one token again and again.
class Repeated final : public Batches {
 public:
  std::vector<std::int32_t> step(std::int64_t) const override {
    return std::vector<std::int32_t>(static_cast<std::size_t>(batch() * (context() + 1)), 7);
  }
  std::int64_t batch() const override { return 4; }
  std::int64_t context() const override { return 64; }
};

std::int64_t most_held(const LanguageModelConfig& config, const TrainingOptions& options,
                       const DataParallel& parallel) {
  const families::Backend& device = families::cpu_backend();
  const ParameterValues values = initial_values(parameters_of(config), 0);
  process::give_back_memory();
  const std::int64_t before = device.memory_use().in_use;
  device.reset_peak_memory();
  Trainer trainer(config, options, values, training_on_cpu(), parallel);
  for (int step = 0; step < 4; ++step) trainer.step(Repeated());
  return device.memory_use().most_held - before;
}

}  // namespace

TEST_CASE("training takes the memory that a dry run of it says", "[training]") {
  const std::string policy = GENERATE("f32", "amp-f16", "naive-f16");
  const Architecture architecture = GENERATE(Architecture::gpt2, Architecture::llama);
  const bool has_others = GENERATE(false, true);
  CAPTURE(policy, to_string(architecture), has_others);
  const LanguageModelConfig config = config_of(architecture);
  const TrainingOptions options{.policy = policy, .clip = 1.0};
  cluster::StepProbe others;
  const DataParallel parallel{.job = has_others ? &others : nullptr};
  const std::int64_t values = 4 * elements_of(config), held = most_held(config, options, parallel);
  CHECK(static_cast<double>(needed_memory(config, options, Repeated().batch(), Repeated().context(),
                                          training_on_cpu(), parallel)) ==
        Approx(static_cast<double>(values + held)).epsilon(0.1));
}

}  // namespace precast::language_model
