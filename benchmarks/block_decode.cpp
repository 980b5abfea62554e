// Decoding rows of each block format to f32 and bf16, on one thread, in turn with ggml's function for the
// format where the environment variable PRECAST_GGML_LIBRARY names a shared library that has it
// (libggml-base.so).
//
// Floor: what is decoded is stored once. 32768 values (128 KiB in f32) stay in the L2 cache, which
// takes 64 bytes in one or two cycles: at 4 GHz 128 to 256 GB/s. A step of 16 values takes a load, a
// widening, a shift or a mask, a conversion, one or two products and a store: about 7 instructions, of which
// 4 start in a cycle.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <common/measure.hpp>
#include <dlfcn.h>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/blocks/block_decoding.hpp>

namespace precast::bench {
namespace {

constexpr std::int64_t values_in_row = 4096, rows_at_once = 8, repeats = 50;

/// ggml's name of a format: "q4_K" for q4_k.
std::string ggml_name(std::string name) {
  if (name.ends_with("_k")) name.back() = 'K';
  return name;
}

using GgmlDecode = void (*)(const void* blocks, float* values, std::int64_t count);

GgmlDecode ggml_function(std::string_view format) {
  static void* const library = [] {
    const char* const path = std::getenv("PRECAST_GGML_LIBRARY");
    return path ? dlopen(path, RTLD_LAZY) : nullptr;
  }();
  if (!library) return nullptr;
  return reinterpret_cast<GgmlDecode>(
      dlsym(library, ("dequantize_row_" + ggml_name(std::string(format))).c_str()));
}

template <class T>
void run_decode(benchmark::State& state, const DtypeInfo& format) {
  const std::int64_t row_bytes = values_in_row / format.values_per_block * format.bytes_per_block;
  std::vector<std::byte> blocks(static_cast<std::size_t>(rows_at_once * row_bytes));
  std::mt19937 engine(1);
  // Below 64, so that scales are neither NaN nor infinite.
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(engine() % 64);
  std::vector<T> values(static_cast<std::size_t>(rows_at_once * values_in_row));
  std::vector<f32> of_ggml(values.size());
  const host::DecodeRows<T> decode = host::rows_decoder<T>(format.name);
  const GgmlDecode reference = ggml_function(format.name);
  const InTurn times = measure_in_turn(
      state,
      [&] {
        for (std::int64_t i = 0; i < repeats; ++i) {
          decode({blocks.data(), row_bytes}, rows_at_once, 0, values_in_row, values.data(), values_in_row);
          benchmark::ClobberMemory();
        }
      },
      [&] {
        if (!reference) return;
        for (std::int64_t i = 0; i < repeats; ++i) {
          reference(blocks.data(), of_ggml.data(), rows_at_once * values_in_row);
          benchmark::ClobberMemory();
        }
      });
  const double count = static_cast<double>(repeats * rows_at_once * values_in_row);
  state.counters["values_per_second"] = count / times.seconds;
  state.counters["f32_bytes_per_second"] = 4 * count / times.seconds;
  if (reference) state.counters["times_ggml"] = times.reference_over_work;
}

template <class T>
void add() {
  for (const BlockFormat& format : block_formats)
    if (block_format_compiled(format.info.name))
      benchmark::RegisterBenchmark(
          ("decode/" + std::string(format.info.name) + "/" + std::string(dtype_traits<T>::name)).c_str(),
          [info = format.info](benchmark::State& state) { run_decode<T>(state, info); })
          ->UseManualTime()
          ->Iterations(21)
          ->Unit(benchmark::kMicrosecond);
}

const bool added = (add<f32>(), add<bf16>(), true);

}  // namespace
}  // namespace precast::bench
