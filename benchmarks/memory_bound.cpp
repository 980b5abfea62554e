// Memory-bound ops: norms, activations, rotary positions, sums with gates, reductions and losses, casts,
// loading. Each runs in turn with a copy of as many bytes, half read and half written, by the same threads;
// reductions and losses read all of theirs.
//
// Floor: the time of that copy. Sizes are 1536 tokens of 3072, so that f32 (19 MB in, 19 out) does not fit
// the L2 cache.
#include <cstring>
#include <string>
#include <vector>

#include <common/model_work.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/nn/linear.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/rotary.hpp>

namespace precast::bench {
namespace {

constexpr std::int64_t tokens = 1536, inner = 3072, heads = 24;

/// Copies between two buffers, on all threads.
class Copy {
 public:
  explicit Copy(double moved_bytes)
      : bytes_(static_cast<std::size_t>(moved_bytes / 2)), from_(bytes_ + chunk), to_(bytes_ + chunk) {
    std::memset(from_.data(), 1, bytes_);
    std::memset(to_.data(), 1, bytes_);
  }
  void operator()() {
    host::parallel_for(static_cast<std::int64_t>((bytes_ + chunk - 1) / chunk), [&](std::int64_t task) {
      const std::size_t first = static_cast<std::size_t>(task) * chunk;
      std::memcpy(to_.data() + first, from_.data() + first, std::min(chunk, bytes_ - first));
    });
  }

 private:
  static constexpr std::size_t chunk = 256 << 10;
  std::size_t bytes_;
  Buffer from_, to_;
};

template <class Run>
void compare_with_copy(benchmark::State& state, double moved_bytes, Run&& run) {
  Copy copy(moved_bytes);
  const InTurn times = measure_in_turn(state, run, copy);
  state.counters["bytes_per_second"] = moved_bytes / times.seconds;
  state.counters["of_copy"] = times.reference_over_work;
}

template <class Body>
void add(const std::string& name, Body body, int iterations = 15) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->UseManualTime()
      ->Iterations(iterations)
      ->Unit(benchmark::kMillisecond);
}

template <PolicyType P>
void add_ops() {
  using Activation = typename P::activation;
  const std::string policy = name_of<P>;
  const double moved = 2.0 * tokens * inner * sizeof(Activation);
  const auto tensor = [] { return random_tensor<Activation>({tokens, inner}); };
  add("norm_modulate/" + policy, [=](benchmark::State& state) {
    const auto x = tensor(), by = random_tensor<Activation>({2, inner});
    compare_with_copy(state, moved, [&] {
      benchmark::DoNotOptimize(
          layer_norm_modulate<P>(x, by.view().rows_between(0, 1), by.view().rows_between(1, 1), {.eps = 1e-6})
              .data());
    });
  });
  add("rms_norm_heads/" + policy, [=](benchmark::State& state) {
    const auto x = tensor(), weight = random_tensor<Activation>({inner / heads});
    compare_with_copy(state, moved,
                      [&] { benchmark::DoNotOptimize(rms_norm_heads<P>(x, weight, {.eps = 1e-6}).data()); });
  });
  add("gelu/" + policy, [=](benchmark::State& state) {
    const auto x = tensor();
    compare_with_copy(state, moved, [&] {
      benchmark::DoNotOptimize(activate<P>(x, ActivationFunction::gelu_tanh).data());
    });
  });
  add("gated_add/" + policy, [=](benchmark::State& state) {
    const auto x = tensor(), residual = tensor(), gate = random_tensor<Activation>({1, inner});
    compare_with_copy(state, 1.5 * moved,
                      [&] { benchmark::DoNotOptimize(gated_add<P>(residual, x, gate).data()); });
  });
  add("rotary/" + policy, [=](benchmark::State& state) {
    const auto x = random_tensor<Activation>({1, tokens, inner});
    const RotaryTable table{random_tensor<f32>({tokens, inner / heads}),
                            random_tensor<f32>({tokens, inner / heads})};
    compare_with_copy(state, moved, [&] { benchmark::DoNotOptimize(rotary<P>(x, table).data()); });
  });
  add("sum/" + policy, [=](benchmark::State& state) {
    const auto x = tensor();
    compare_with_copy(state, moved / 2, [&] { benchmark::DoNotOptimize(sum<P>(x).data()); });
  });
  add("mean_squared_error/" + policy, [=](benchmark::State& state) {
    const auto x = tensor(), y = tensor();
    compare_with_copy(state, moved, [&] { benchmark::DoNotOptimize(mean_squared_error<P>(x, y).data()); });
  });
  add("cross_entropy/" + policy, [=](benchmark::State& state) {
    const auto logits = tensor();
    const std::vector<std::int64_t> targets(tokens, 7);
    compare_with_copy(state, moved / 2,
                      [&] { benchmark::DoNotOptimize(cross_entropy<P>(logits, targets).data()); });
  });
}

template <ScalarDtype From, ScalarDtype To>
void add_cast() {
  add("cast/" + std::string(dtype_traits<From>::name) + "_to_" + std::string(dtype_traits<To>::name),
      [](benchmark::State& state) {
        const auto x = random_tensor<From>({tokens, inner});
        Tensor<To> out(x.shape());
        compare_with_copy(state, 1.0 * tokens * inner * (sizeof(From) + sizeof(To)),
                          [&] { host::convert_values(x, out.view()); });
      });
}

/// A linear layer of 3072 x 12288 from a file's bytes to what the policy stores.
template <PolicyType P, ScalarDtype InFile>
void add_load() {
  add(
      "load/" + std::string(dtype_traits<InFile>::name) + "_to_" + name_of<P>,
      [](benchmark::State& state) {
        const testing::RandomSource<InFile> source({{"weight", {4 * inner, inner}}, {"bias", {4 * inner}}});
        const double values = 4.0 * inner * inner;
        const auto bytes = static_cast<double>(sizeof(InFile) + sizeof(typename LinearWeight<P>::Storage));
        compare_with_copy(state, values * bytes, [&] {
          const nn::Linear<P> linear(nn::ParameterPath(source), inner, 4 * inner);
          benchmark::DoNotOptimize(&linear);
        });
      },
      5);
}

const bool added = [] {
  for_each_policy([]<class P>(P*) { add_ops<P>(); }, false);
  add_cast<f32, bf16>();
  add_cast<bf16, f32>();
  add_cast<f32, f16>();
  add_cast<f16, f32>();
  add_cast<f32, fp8_e4m3>();
  add_cast<fp8_e4m3, f32>();
  for_each_policy(
      []<class P>(P*) {
        add_load<P, f32>();
        add_load<P, bf16>();
        add_load<P, f16>();
      },
      false);
  return true;
}();

}  // namespace
}  // namespace precast::bench
