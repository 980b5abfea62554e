// Ranks that train on emulated devices: gradients are packed, summed and unpacked where they lie.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda_training/emulated_device.hpp>
#include <language_model/golden_batches.hpp>
#include <support/arrays.hpp>
#include <support/thread_ranks.hpp>

#include <precast/cuda/runtime/device_copies.hpp>

using namespace precast;
using namespace precast::language_model;
using namespace precast::testing;

namespace {

constexpr std::int64_t steps = 5;

/// The windows of one of two ranks.
class HalfBatches final : public Batches {
 public:
  explicit HalfBatches(int rank) : rank_(rank) {}
  std::vector<std::int32_t> step(std::int64_t step) const override {
    const std::vector<std::int32_t> all = GoldenBatches().step(step);
    const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
    return {all.begin() + rank_ * half, all.begin() + (rank_ + 1) * half};
  }
  std::int64_t batch() const override { return GoldenBatches().batch() / 2; }
  std::int64_t context() const override { return GoldenBatches().context(); }

 private:
  int rank_;
};

/// Adds up values of a device: they come to the host in the order of the stream, and go back in it.
class DeviceRank final : public cluster::Communicator {
 public:
  DeviceRank(ranks::Meeting& meeting, int rank) : host_(meeting, rank) {}
  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  Ticket start_sum(void* values, std::int64_t count, cluster::SumDtype dtype) override {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * cluster::bytes_of(dtype));
    gpu::DeviceMemory::copy_to_host(bytes.data(), values, bytes.size());
    const Ticket ticket = host_.start_sum(bytes.data(), count, dtype);
    under_way_.emplace(ticket, std::pair(values, std::move(bytes)));
    return ticket;
  }
  void wait(Ticket ticket) override {
    host_.wait(ticket);
    const auto& [values, bytes] = under_way_.at(ticket);
    gpu::DeviceMemory::copy_from_host(values, bytes.data(), bytes.size());
    under_way_.erase(ticket);
  }
  double seconds_of(Ticket) const override { return 0; }
  void broadcast(std::span<std::byte>, int) override {}

  std::size_t sums() const { return host_.counts.size(); }

 private:
  ranks::ThreadRank host_;
  std::map<Ticket, std::pair<void*, std::vector<std::byte>>> under_way_;
};

struct Run {
  std::vector<StepFacts> steps;
  ParameterValues values;
};

TrainingOptions options_of(const std::string& policy) {
  return {.policy = policy, .steps = steps, .adamw = {.lr = 0.03, .eps = 0.05}, .clip = 1.0};
}

Run run_of(const std::string& model, const std::string& policy, const Batches& batches,
           const TrainingDevice& device = emulated_training_device(), const DataParallel& parallel = {}) {
  const auto folder = golden_folder(model);
  const LanguageModelConfig config = LanguageModelConfig::load(folder / "config.json");
  Trainer trainer(config, options_of(policy), read_values(folder, config), device, parallel);
  Run run;
  while (!trainer.done()) run.steps.push_back(trainer.step(batches));
  run.values = trainer.model().values();
  return run;
}

/// Both ranks' runs.
std::vector<Run> two_ranks(const std::string& model, const std::string& policy, std::size_t bucket_bytes,
                           std::optional<cluster::SumDtype> message = {}) {
  std::vector<Run> runs(2);
  ranks::Meeting devices(2);
  ranks::run_ranks(2, [&](ranks::ThreadRank& job) {
    TrainingDevice device = emulated_training_device();
    device.join = [&](cluster::Communicator& own) -> std::unique_ptr<cluster::Communicator> {
      return std::make_unique<DeviceRank>(devices, own.rank());
    };
    runs[static_cast<std::size_t>(job.rank())] =
        run_of(model, policy, HalfBatches(job.rank()), device,
               {.job = &job, .bucket_bytes = bucket_bytes, .message = message});
  });
  return runs;
}

double largest_difference(const Run& a, const Run& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.steps.size(); ++i)
    most = std::max(most, std::abs(a.steps[i].loss - b.steps[i].loss));
  return most;
}

}  // namespace

TEST_CASE("two ranks on emulated devices go the way of one with twice the batch", "[f32][many_runs]") {
  for (const char* model : {"tiny_gpt2", "tiny_llama"}) {
    CAPTURE(model);
    const Run one = run_of(model, "f32", GoldenBatches()), half = run_of(model, "f32", HalfBatches(0));
    const std::vector<Run> two = two_ranks(model, "f32", 4096);
    CHECK(two[0].values == two[1].values);  // the same bits on each
    CHECK(largest_difference(one, two[0]) <= 1e-5);
    CHECK(two[0].steps[0].grad_norm == Approx(one.steps[0].grad_norm).epsilon(1e-5));
    CHECK(largest_difference(one, half) > 1e-2);  // which the second rank's windows make up for
    CHECK(two_ranks(model, "f32", std::size_t{1} << 20)[0].values == two[0].values);  // whatever the buckets
  }
}

TEST_CASE("gradients of emulated devices may travel in bf16", "[f32]") {
  const Run one = run_of("tiny_gpt2", "f32", GoldenBatches());
  const std::vector<Run> two = two_ranks("tiny_gpt2", "f32", 4096, cluster::SumDtype::bf16);
  CHECK(two[0].values == two[1].values);
  const double norm = one.steps[0].grad_norm, apart = std::abs(two[0].steps[0].grad_norm - norm);
  // Each gradient is rounded once on each rank and once where they are added.
  CHECK(apart <= 2 * unit<bf16> * norm);
  CHECK(apart > unit<f32> * norm);
}
