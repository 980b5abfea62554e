// The families of benchmarks of a device, and how one is added.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

#include <benchmark/benchmark.h>
#include <cuda/device.hpp>
#include <cuda/sizes.hpp>

#include <precast/policy/policy.hpp>

namespace precast::bench {

/// What every benchmark needs. Lives as long as the program.
struct Suite {
  Device& device;
  Sizes sizes;
};

void add_copies(const Suite& suite);
void add_linear(const Suite& suite);
void add_block_linear(const Suite& suite);
void add_attention(const Suite& suite);
void add_norms(const Suite& suite);
void add_pointwise(const Suite& suite);
/// Blocks and a step of denoising under a policy.
template <PolicyType P>
void add_flux(const Suite& suite);
/// Predictions of UNets and a decoder of pictures under a policy.
template <PolicyType P>
void add_stable_diffusion(const Suite& suite);

/// Throws OutOfMemory where less than `bytes` of the device's memory is free.
void require_free_memory(Device& device, double bytes);

/// Adds a benchmark under KIND/POLICY/SIZE that runs a number of times. It is left out, with the reason in
/// its result, where `bytes` of memory are not free, and where it throws.
template <class Body>
void add(const Suite& suite, const std::string& name, std::int64_t runs, double bytes, Body body) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [&suite, bytes, body](benchmark::State& state) {
                                 try {
                                   require_free_memory(suite.device, bytes);
                                   body(state);
                                 } catch (const std::exception& error) {
                                   state.SkipWithError(error.what());
                                 }
                               })
      ->UseManualTime()
      ->Iterations(std::min(runs, suite.sizes.most_runs))
      ->Unit(benchmark::kMicrosecond);
}

/// "4608x3072".
inline std::string size_text(std::int64_t rows, std::int64_t columns) {
  return std::to_string(rows) + "x" + std::to_string(columns);
}

}  // namespace precast::bench
