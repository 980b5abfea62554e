// A part of a model as a benchmark: its time, the share of oneDNN's own matmul rate that it reaches, and its
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <benchmark/benchmark.h>
#include <common/measure.hpp>
#include <common/onednn_rate.hpp>
#include <common/policies.hpp>
#include <common/random_tensor.hpp>
#include <common/work.hpp>

#include <precast/memory/memory.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::bench {

/// Measures `run(part)`, with `make()` making the part, which is what loads and holds its weights. Counters:
///   share           flops of the layers / our time / oneDNN's rate on the same layers: what a block loses to
///                   everything that is not a linear layer counts against it
///   share_all       the same with the flops of attention's products counted too
///   memory          most tensor memory while it was made and ran / bytes of its parameters as stored
///   resident        the same by what the system says the process held
template <PolicyType P, class Make, class Run>
void measure_model(benchmark::State& state, const Work& work, Make&& make, Run&& run) {
  using Activation = typename P::activation;
  release_cached_memory();
  reset_peak_memory();
  forget_peak_resident();
  const double resident_before = resident_bytes("VmRSS");
  const auto used_before = static_cast<double>(memory_use().in_use);
  const auto part = make();
  run(part);
  const double stored =
      work.parameters * static_cast<double>(sizeof(typename precisions<P, Matmul>::storage));
  state.counters["memory"] = (static_cast<double>(memory_use().peak) - used_before) / stored;
  state.counters["resident"] = (resident_bytes("VmHWM") - resident_before) / stored;

  const double layer_flops = flops_of(work.layers);
  if (work.layers.empty()) {
    measure_in_turn(
        state, [&] { run(part); }, [] {});
  } else {
    OneDnnLayers layers(work.layers, std::type_identity<Activation>{});
    const InTurn times = measure_in_turn(
        state, [&] { run(part); }, layers);
    state.counters["share"] = times.reference_over_work;
    state.counters["share_all"] = times.reference_over_work * work.flops() / layer_flops;
    state.counters["onednn_flops"] = layer_flops / times.reference_seconds;
  }
  if (work.flops() > 0) state.counters["flops"] = work.flops() / state.counters["seconds"];
}

/// Has `run(null pointer to the policy, state)` measured for each policy, as "name/POLICY/size", so many
/// rounds each. Returns true, for a constant of the program to hold.
template <class Run>
bool add_model(const std::string& name, const std::string& size, int rounds, Run run) {
  for_each_policy([&]<class P>(P* policy) {
    benchmark::RegisterBenchmark((name + "/" + name_of<P> + "/" + size).c_str(),
                                 [run, policy](benchmark::State& state) { run(policy, state); })
        ->UseManualTime()
        ->Iterations(rounds)
        ->Unit(benchmark::kMillisecond);
  });
  return true;
}

}  // namespace precast::bench
