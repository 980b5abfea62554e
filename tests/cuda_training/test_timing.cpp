// precast bench on the emulated device: its memory is what is counted, and each reading of the clock waits.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_training/emulated_device.hpp>
#include <simt/session.hpp>
#include <timing/attention_grid.hpp>
#include <timing/model_grid.hpp>

#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/memory/memory.hpp>

using namespace precast;
using namespace precast::timing;

namespace {

TimedDevice emulated_device() {
  const language_model::TrainingDevice device = testing::emulated_training_device();
  return {device, &cuda_attention_policies(), "cuda:0 (emulated)", device.backend->start()};
}

const plots::Cell& cell(const Suite& suite, const Row& row, const std::string& column) {
  const std::vector<std::string>& columns = suite.empty.table.columns;
  return row.at(static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin()));
}
double number(const Suite& suite, const Row& row, const std::string& column) {
  return std::get<double>(cell(suite, row, column));
}
std::string text(const Suite& suite, const Row& row, const std::string& column) {
  return std::get<std::string>(cell(suite, row, column));
}

Row measured_row(const SuiteCase& of) {
  return of.measure([] {});
}

/// How often the host waits for the device in the first case that `suite_on` makes. The device is a new one:
/// how full the buffers of uploads are that it has decides what those wait for.
template <class SuiteOn>
std::int64_t waits_of(const SuiteOn& suite_on) {
  const Suite suite = suite_on(emulated_device());
  const simt::Session session;
  measured_row(suite.cases.front());
  return session.waits();
}

}  // namespace

TEST_CASE("a step of a language model is measured on the emulated device, whose memory is counted",
          "[f32][amp-bf16]") {
  const TimedDevice device = emulated_device();
  const ModelGrid grid{.sizes = {"tiny"},
                       .contexts = {8},
                       .warmups = {0},
                       .policies = {"f32", "amp-bf16"},
                       .steps = 1,
                       .batch = 1};
  const Suite suite = model_suite(grid, device);
  CHECK(suite.empty.settings.ends_with("; device cuda"));
  const std::int64_t on_host = memory_use().in_use;
  for (const SuiteCase& of : suite.cases) {
    const Row row = measured_row(of);
    CAPTURE(text(suite, row, "policy"));
    CHECK(text(suite, row, "device") == "cuda:0 (emulated)");
    CHECK(text(suite, row, "status") == "ok");
    for (const char* const column : {"fwd avg (sec)", "fwd & back avg (sec)", "optimizer avg (sec)"})
      CHECK(number(suite, row, column) > 0);
    // Masters, both moments and gradients in f32, of the device alone: a dry run counts the same blocks.
    const double needed = static_cast<double>(of.needed_memory()) / (1 << 20);
    CHECK(number(suite, row, "memory (MiB)") == needed);
    CHECK(number(suite, row, "needed (MiB)") == needed);
    CHECK(memory_use().in_use == on_host);
  }
}

TEST_CASE("each reading of the clock waits for the emulated device", "[f32][many_runs]") {
  const auto of_model = [](std::int64_t steps, Parts parts) {
    const ModelGrid grid{.sizes = {"tiny"},
                         .contexts = {8},
                         .warmups = {0},
                         .policies = {"f32"},
                         .steps = steps,
                         .batch = 1,
                         .parts = parts};
    return waits_of([&](const TimedDevice& device) { return model_suite(grid, device); });
  };
  const auto of_attention = [](std::int64_t steps) {
    const AttentionGrid grid{.head_widths = {16},
                             .contexts = {16},
                             .kinds = {"flash"},
                             .policies = {"f32"},
                             .warmups = {0},
                             .steps = steps,
                             .batch = 1};
    return waits_of([&](const TimedDevice& device) { return attention_suite(grid, device); });
  };
  constexpr std::int64_t readings = 2, for_the_loss = 1;
  const Parts forward{.forward = true, .forward_backward = false, .optimizer = false},
      optimizer{.forward = false, .forward_backward = false, .optimizer = true};
  CHECK(of_model(2, forward) - of_model(1, forward) == readings + for_the_loss);
  CHECK(of_model(2, optimizer) - of_model(1, optimizer) == readings);
  CHECK(of_attention(2) - of_attention(1) == 2 * readings);  // forward and backward
}

TEST_CASE("attention alone is measured on the emulated device, whose memory is counted", "[f32]") {
  const TimedDevice device = emulated_device();
  std::vector<std::string> policies;
  for (const AttentionPolicy& policy : cuda_attention_policies())
    if (policy.kind == "flash") policies.push_back(policy.policy);
  const AttentionGrid grid{
      .head_widths = {16}, .contexts = {64}, .policies = policies, .warmups = {0}, .steps = 1, .batch = 2};
  const Suite suite = attention_suite(grid, device);
  for (const SuiteCase& of : suite.cases) {
    const Row row = measured_row(of);
    const std::string policy = text(suite, row, "policy");
    CAPTURE(policy, text(suite, row, "attention"));
    CHECK(text(suite, row, "device") == "cuda:0 (emulated)");
    CHECK(number(suite, row, "fwd avg (sec)") > 0);
    CHECK(number(suite, row, "back avg (sec)") > 0);
    // Queries, keys, values, the result and its gradient, and a logarithm for each row.
    const double bytes = 2 * 64 * (5 * 16 * (policy == "f32" ? 4 : 2) + 4);
    CHECK(number(suite, row, "memory before back (MiB)") == bytes / (1 << 20));
    CHECK(number(suite, row, "memory (MiB)") == number(suite, row, "needed (MiB)"));
  }
}
