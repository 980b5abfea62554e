// Holds the estimate of a component's memory against what it takes.
#pragma once

#include <cstdint>
#include <thread>

#include <catch2/catch.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

namespace precast::testing {

/// What a component takes: its weights, and the most that is held while it is loaded and runs.
struct Taken {
  std::int64_t weights = 0, peak = 0;
};

/// Measures it: `load` loads a component, `run` runs it. On one thread that holds no scratch yet: how many
/// of several take part is chance.
template <class Load, class Run>
Taken measured(Load&& load, Run&& run) {
  Taken taken;
  std::thread([&] {
    release_cached_memory();
    reset_peak_memory();
    const MemoryUse before = memory_use();
    const auto component = load();
    taken.weights = memory_use().in_use - before.in_use;
    run(*component);
    taken.peak = memory_use().most_held - before.in_use - before.scratch;
  }).join();
  return taken;
}
/// Estimates it.
template <class Load, class Run>
Taken estimated(Load&& load, Run&& run) {
  DryRun dry;
  const auto component = load();
  const std::int64_t weights = dry.in_use();
  run(*component);
  return {weights, dry.peak()};
}

/// Holds if the estimate of the weights is exact, and that of the peak is a tenth off at most.
template <class Load, class Run>
void check_estimate(const char* component, Load&& load, Run&& run) {
  const int threads = host::threads();
  host::set_threads(1);
  const Taken estimate = estimated(load, run);
  const Taken truth = measured(load, run);
  host::set_threads(threads);
  INFO(component << ": estimated " << estimate.weights << " of " << estimate.peak << ", measured "
                 << truth.weights << " of " << truth.peak);
  CHECK(estimate.weights == truth.weights);
  CHECK(static_cast<double>(estimate.peak) >= 0.9 * static_cast<double>(truth.peak));
  CHECK(static_cast<double>(estimate.peak) <= 1.1 * static_cast<double>(truth.peak));
}

}  // namespace precast::testing
