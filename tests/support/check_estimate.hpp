// Compares the estimate of a component's memory with the memory that it takes.
#pragma once

#include <cstdint>
#include <thread>

#include <catch2/catch.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

namespace precast::testing {

/// The bytes of a component: of its weights, and the peak while it is loaded and runs.
struct Taken {
  std::int64_t weights = 0, peak = 0;
};

/// Measures a component, which `load` loads and `run` runs, on one thread that holds no scratch yet: how
/// many of several threads take part would be random.
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
/// Estimates the same by a dry run.
template <class Load, class Run>
Taken estimated(Load&& load, Run&& run) {
  DryRun dry;
  const auto component = load();
  const std::int64_t weights = dry.in_use();
  run(*component);
  return {weights, dry.peak()};
}

/// Checks that the estimate of the weights is exact, and that of the peak within a tenth.
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
