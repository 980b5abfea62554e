// precast_cuda_benchmarks: kernels and parts of models on a CUDA device. `./dev bench --device cuda` builds
// and runs it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <common/policies.hpp>
#include <cuda/suite.hpp>

#include <precast/error.hpp>

namespace precast::bench {

void require_free_memory(Device& device, double bytes) {
  const auto free_bytes = static_cast<double>(device.free_memory());
  if (free_bytes >= bytes) return;
  const auto gigabytes = [](double count) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f GB", count / 1e9);
    return std::string(text.data());
  };
  throw OutOfMemory("needs about " + gigabytes(bytes) + " of the device's memory, and " +
                    gigabytes(free_bytes) +
                    " are free: end what holds the rest, or leave this out with --filter");
}

namespace {

void print_help() {
  std::puts(
      "precast_cuda_benchmarks [--tiny] [options of Google Benchmark]\n"
      "  --tiny  a few rows of everything: whether it runs\n");
  benchmark::PrintDefaultHelp();
}

int run(int argc, char** argv) {
  const auto last = std::remove_if(
      argv + 1, argv + argc, [](const char* argument) { return argument == std::string_view("--tiny"); });
  const bool tiny = last != argv + argc;
  argc = static_cast<int>(last - argv);
  benchmark::Initialize(&argc, argv, print_help);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const std::unique_ptr<Device> device = open_device();
  for (const auto& [name, value] : device->facts()) benchmark::AddCustomContext(name, value);
  const Suite suite{*device, tiny ? Sizes::tiny() : Sizes{}};
  add_copies(suite);
  add_pointwise(suite);
  add_norms(suite);
  add_linear(suite);
  add_block_linear(suite);
  add_attention(suite);
  add_flux<F32>(suite);
  add_flux<Bf16>(suite);
  add_flux<F16>(suite);
  add_stable_diffusion<F32>(suite);
  add_stable_diffusion<Bf16>(suite);
  add_stable_diffusion<F16>(suite);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace precast::bench

int main(int argc, char** argv) {
  try {
    return precast::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "precast_cuda_benchmarks: %s\n", error.what());
    return 1;
  }
}
