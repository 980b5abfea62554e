// Training on the emulated device, beside the host's from the same weights on the same windows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_training/emulated_device.hpp>
#include <language_model/golden_batches.hpp>
#include <simt/session.hpp>
#include <support/arrays.hpp>
#include <support/temporary_folder.hpp>

#include <precast/cuda/runtime/device_copies.hpp>

using namespace precast;
using namespace precast::language_model;
using namespace precast::testing;

namespace {

constexpr std::int64_t steps = 5;
constexpr const char* models[] = {"tiny_gpt2", "tiny_llama"};

/// The additions one after another that a gradient of these models is at the end of: two layers, each with
/// sums over a norm's 16 columns twice, products of 16, 8, 24, 16, 16 and 64 terms, and a softmax of 24; then
/// a norm, the head's 16 terms and the loss of 128 classes over 96 rows; and all of it once more on the way
/// back.
constexpr double roundings = 2 * (2 * (2 * 16 + 16 + 8 + 24 + 24 + 16 + 16 + 64) + 16 + 16 + 128 + 96);
/// What two runs in f32 that add in other orders may lie apart by, relatively, in step `step`: what the steps
/// before changed in weights is apart by as much.
double bound_of(std::int64_t step) { return 2 * roundings * unit<f32> * static_cast<double>(step + 1); }

/// The same of AMP in f16, whose sums are f32: only a value that lies near the middle of two of f16's goes
/// another way, where an operand is rounded. One after another: of each of two layers, the operands of
/// attention (queries, weights) and of its projections and the feed-forward products; and the head's; and all
/// of it once more on the way back.
constexpr double f16_roundings = 2 * (2 * (2 + 2 + 2) + 1);
double f16_bound_of(std::int64_t step) {
  return bound_of(step) + 2 * f16_roundings * unit<f16> * static_cast<double>(step + 1);
}

/// AdamW's eps is of the size of gradients: a step is a smooth function of them. With 1e-8 a gradient that is
/// zero but for roundings, as that of a key's bias, would move its weight by the learning rate either way.
TrainingOptions options_of(const std::string& policy) {
  return {.policy = policy,
          .steps = steps,
          .adamw = {.lr = 0.03, .eps = 0.05},
          .clip = 1.0,
          .scaler = {.init_scale = 0x1p20, .growth_interval = 2}};
}

Trainer trainer_of(const std::string& model, const TrainingOptions& options, const TrainingDevice& device) {
  const auto folder = golden_folder(model);
  const LanguageModelConfig config = LanguageModelConfig::load(folder / "config.json");
  return Trainer(config, options, read_values(folder, config), device);
}

struct Run {
  std::vector<StepFacts> steps;
  ParameterValues values;
  GradientHistogram gradients;
};

Run run_on(const TrainingDevice& device, const std::string& model, const std::string& policy) {
  Trainer trainer = trainer_of(model, options_of(policy), device);
  Run run;
  while (!trainer.done()) run.steps.push_back(trainer.step(GoldenBatches()));
  run.values = trainer.model().values();
  run.gradients = trainer.model().histogram();
  return run;
}

/// The root of the sum of squares of what two sets of values lie apart by.
double distance(const ParameterValues& a, const ParameterValues& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j)
      sum += std::pow(static_cast<double>(a[i][j]) - static_cast<double>(b[i][j]), 2);
  return std::sqrt(sum);
}
double distance(const std::vector<StepFacts>& a, const std::vector<StepFacts>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i].loss - b[i].loss, 2);
  return std::sqrt(sum);
}

ParameterValues first_values(const std::string& model) {
  const auto folder = golden_folder(model);
  return read_values(folder, LanguageModelConfig::load(folder / "config.json"));
}

}  // namespace

TEST_CASE("on the emulated device f32 is trained as on the host", "[f32][many_runs]") {
  for (const char* model : models) {
    const Run host = run_on(training_on_cpu(), model, "f32"),
              device = run_on(emulated_training_device(), model, "f32");
    CAPTURE(model);
    for (std::size_t i = 0; i < host.steps.size(); ++i) {
      CAPTURE(i, host.steps[i].loss - device.steps[i].loss);
      const double bound = bound_of(static_cast<std::int64_t>(i));
      CHECK(std::abs(device.steps[i].loss - host.steps[i].loss) <= bound * host.steps[i].loss);
      CHECK(std::abs(device.steps[i].grad_norm - host.steps[i].grad_norm) <= bound * host.steps[i].grad_norm);
      CHECK(device.steps[i].non_finite == 0);
      CHECK(device.steps[i].memory > 0);
    }
    CHECK(host.steps.back().loss < host.steps.front().loss);
    // Both went the same way, but for a small part of it.
    const double moved = distance(host.values, first_values(model));
    CAPTURE(moved, distance(device.values, host.values));
    CHECK(moved > 0.1);
    CHECK(distance(device.values, host.values) <= steps * bound_of(steps) * moved);
    CHECK(device.gradients.non_finite == 0);
    std::int64_t counted = device.gradients.zeros, values = 0;
    for (const std::int64_t count : device.gradients.counts) counted += count;
    for (const std::vector<f32>& one : device.values) values += static_cast<std::int64_t>(one.size());
    CHECK(counted == values);
  }
}

TEST_CASE("gradients on the emulated device are counted by their powers of two", "[f32]") {
  Trainer trainer = trainer_of("tiny_gpt2", options_of("f32"), emulated_training_device());
  trainer.step(GoldenBatches());
  ExponentHistogram expected;
  for (const StateTensor& gradient : trainer.model().gradient_tensors()) {
    std::vector<f32> values(gradient.bytes.size() / sizeof(f32));
    gpu::DeviceMemory::copy_to_host(values.data(), gradient.bytes.data(), gradient.bytes.size());
    for (const f32 value : values) expected.add(value);
  }
  const GradientHistogram found = trainer.model().histogram();
  CHECK(found.counts == expected.counts);
  CHECK(found.zeros == expected.zeros);
  CHECK(found.non_finite == 0);
  CHECK(std::ranges::count_if(found.counts, [](std::int64_t count) { return count > 0; }) > 5);
}

TEST_CASE("on the emulated device mixed precision is as far from f32 as on the host",
          "[f32][amp-bf16][many_runs]") {
  const char* const policy = "amp-bf16";
  for (const char* model : models) {
    const Run exact = run_on(training_on_cpu(), model, "f32"),
              host = run_on(training_on_cpu(), model, policy),
              device = run_on(emulated_training_device(), model, policy);
    const double of_host = distance(host.steps, exact.steps), of_device = distance(device.steps, exact.steps);
    CAPTURE(model, of_host, of_device);
    CHECK(of_device <= 2 * of_host);
    CHECK(of_device > 0.05 * of_host);  // not f32 under another name
    CHECK(distance(device.values, exact.values) <= 2 * distance(host.values, exact.values));
  }
}

TEST_CASE("on the emulated device AMP in f16 leaves out the host's steps, and has its scales", "[amp-f16]") {
  for (const char* model : models) {
    const Run host = run_on(training_on_cpu(), model, "amp-f16"),
              device = run_on(emulated_training_device(), model, "amp-f16");
    CAPTURE(model);
    for (std::size_t i = 0; i < host.steps.size(); ++i) {
      CAPTURE(i);
      CHECK(device.steps[i].skipped == host.steps[i].skipped);
      CHECK(device.steps[i].scale == host.steps[i].scale);
      CHECK(std::isfinite(device.steps[i].grad_norm) == std::isfinite(host.steps[i].grad_norm));
      CHECK((device.steps[i].non_finite > 0) == (host.steps[i].non_finite > 0));
      CAPTURE(host.steps[i].loss - device.steps[i].loss);
      CHECK(std::abs(device.steps[i].loss - host.steps[i].loss) <=
            f16_bound_of(static_cast<std::int64_t>(i)) * host.steps[i].loss);
    }
    const auto skipped = std::ranges::count_if(host.steps, &StepFacts::skipped);
    CHECK(skipped >= 1);
    CHECK(skipped < steps);
    // Both went the same way, but for a part of it.
    const double moved = distance(host.values, first_values(model));
    CAPTURE(moved, distance(device.values, host.values));
    CHECK(distance(device.values, host.values) <= f16_bound_of(steps) * moved);
  }
}

TEST_CASE(
    "a run on the emulated device has the same bits whatever the schedule, and goes on from a checkpoint",
    "[amp-bf16]") {
  const TemporaryFolder folder;
  const auto bits = [&](std::uint64_t seed, simt::Copies copies, bool stops) {
    simt::Options options;
    options.seed = seed;
    options.copies = copies;
    const simt::Session session(options);
    const TrainingDevice device = emulated_training_device();
    const auto file = folder.path() / "checkpoint.safetensors";
    if (stops) {
      Trainer first = trainer_of("tiny_llama", options_of("amp-bf16"), device);
      for (int i = 0; i < 3; ++i) first.step(GoldenBatches());
      first.write_checkpoint(file);
    }
    Trainer trainer = trainer_of("tiny_llama", options_of("amp-bf16"), device);
    if (stops) trainer.read_checkpoint(open_checkpoint(file));
    while (!trainer.done()) trainer.step(GoldenBatches());
    std::vector<std::byte> all;
    for (const StateTensor& tensor : trainer.model().state())
      all.insert(all.end(), tensor.bytes.begin(), tensor.bytes.end());
    return all;
  };
  const auto late = bits(1, simt::Copies::late, false);
  CHECK(late == bits(2, simt::Copies::early, false));
  CHECK(late == bits(3, simt::Copies::late, true));
}

TEST_CASE("a step of training on the emulated device waits twice, for its loss and for its gradients' facts",
          "[f32]") {
  for (const char* model : models) {
    Trainer trainer = trainer_of(model, options_of("f32"), emulated_training_device());
    trainer.step(GoldenBatches());
    const simt::Session session;
    trainer.step(GoldenBatches());
    std::map<std::string, int> launches;
    for (const simt::LaunchRecord& launch : session.launches()) ++launches[launch.kernel];
    std::string listed;
    for (const auto& [name, count] : launches) listed += " " + name + " x " + std::to_string(count);
    WARN(model << ": " << session.launches().size() << " launches a step:" << listed);
    CHECK(session.waits() == 2);
    CHECK(launches["adamw"] <= 2);  // 21 parameters travel with a launch in the emulator, 63 on a device
    CHECK(launches["unscale_gradients"] == 1);
    CHECK(launches["add_gradient_sums"] == 1);
  }
}
