// Linear layers whose weight is in the blocks of a file, each in turn with the policy's own storage of the
// same shape.
//
// Floors. One row: every byte of the weight is read once, and the rate of reading memory decides; measured in
// turn with it, as the sum of as many bytes. Both go over as many layers as no cache holds. Hundreds of rows:
// the product is the same as of the policy's own weight, and what blocks cost more is to decode them once for
// each block of rows: 768 rows of bf16 are multiplied for some 2.5 ns by a value of the weight on a core that
// makes 600 GFLOP/s, and a value takes 0.1 to 0.2 ns to decode.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <common/measure.hpp>
#include <common/policies.hpp>
#include <common/random_tensor.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/ops/linear.hpp>

namespace precast::bench {
namespace {

constexpr std::int64_t columns = 3072, features = 12288, most_of_few_rows = 8;

/// The facts of a block format, or of rows of so many columns under a scale.
DtypeInfo format_named(std::string_view name) {
  DtypeInfo info;
  const auto find = [&]<class F>(std::type_identity<F>) { info = dtype_info<F>; };
  if (!visit_block_format(name, find)) info = scaled_row_info(name, columns);
  return info;
}

/// A weight of random codes, whose scales are small numbers.
template <PolicyType P>
LinearWeight<P> weight_in(const DtypeInfo& format) {
  return LinearWeight<P>::in_blocks(format, features, columns, [&](std::span<std::byte> rows) {
    std::uint32_t state = 1;
    for (std::byte& byte : rows) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 26);
    if (format.values_per_block == columns)
      for (std::int64_t r = 0; r < features; ++r)
        write_row_head(0.01f, columns, rows.data() + r * format.bytes_per_block);
  });
}

/// Reads as many bytes as a weight has, with all threads.
class MemoryReader {
 public:
  explicit MemoryReader(std::int64_t bytes) : words_(static_cast<std::size_t>(bytes / 8), 1) {}
  void operator()() {
    constexpr std::int64_t at_once = 1 << 15;
    const auto count = static_cast<std::int64_t>(words_.size());
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(ceil_divide(count, at_once)));
    host::parallel_for(static_cast<std::int64_t>(sums.size()), [&](std::int64_t task) {
      const auto begin = words_.begin() + task * at_once;
      sums[static_cast<std::size_t>(task)] =
          std::accumulate(begin, begin + std::min(at_once, count - task * at_once), std::uint64_t{});
    });
    benchmark::DoNotOptimize(sums.data());
  }

 private:
  std::vector<std::uint64_t> words_;
};

template <PolicyType P>
void run_rows(benchmark::State& state, const DtypeInfo& format, std::int64_t rows) {
  using Activation = typename P::activation;
  const Tensor<Activation> x = random_tensor<Activation>({rows, columns});
  Tensor<Activation> out(Shape{rows, features});
  if (rows <= most_of_few_rows) {
    // More than the last cache holds.
    constexpr std::int64_t enough = std::int64_t{256} << 20;
    std::vector<LinearWeight<P>> weights;
    std::int64_t bytes = 0;
    for (; bytes < enough; bytes += weights.back().bytes()) weights.push_back(weight_in<P>(format));
    MemoryReader reader(bytes);
    const auto multiply = [&] {
      for (const LinearWeight<P>& weight : weights) linear_into<P>(x, weight, out.view());
    };
    const InTurn times = measure_in_turn(state, multiply, reader);
    state.counters["share_of_reading"] = times.reference_over_work;
    state.counters["bytes_per_second"] = static_cast<double>(bytes) / times.seconds;
  } else {
    const LinearWeight<P> weight = weight_in<P>(format);
    const LinearWeight<P> dense(random_tensor<typename LinearWeight<P>::Storage>({features, columns}).view());
    const auto multiply = [&](const LinearWeight<P>& with) {
      return [&] { linear_into<P>(x, with, out.view()); };
    };
    const auto own_seconds = [&](const LinearWeight<P>& with) {
      return [work = multiply(with)] { return process_seconds_of(work); };
    };
    // Of one thread the time that it computed, in which neighbours on the cores have no part.
    const InTurn times = host::threads() == 1 ? time_in_turn(state, own_seconds(weight), own_seconds(dense))
                                              : measure_in_turn(state, multiply(weight), multiply(dense));
    state.counters["share_of_dense"] = times.reference_over_work;
    state.counters["flops"] = 2.0 * static_cast<double>(rows * columns * features) / times.seconds;
  }
}

template <PolicyType P>
void add(const char* format, std::int64_t rows) {
  if (!block_format_compiled(format)) return;
  const DtypeInfo info = format_named(format);
  const std::string name =
      "block_linear/" + std::string(format) + "/" + name_of<P> + "/" + std::to_string(rows);
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run_rows<P>(state, info, rows); })
      ->UseManualTime()
      ->Iterations(rows <= most_of_few_rows ? 15
                   : rows <= 768            ? 5
                                            : 3)
      ->Unit(benchmark::kMillisecond);
}

const bool added = [] {
  for (const std::int64_t rows : {1, 2, 4})
    for (const char* format :
         {"q8_0",   "int8_row", "fp8_e4m3_row", "fp8_e5m2_row", "mxfp8", "mxfp6_e3m2", "mxfp6_e2m3",
          "q6_k",   "q5_1",     "q5_0",         "q5_k",         "q4_1",  "q4_0",       "q4_k",
          "iq4_nl", "iq4_xs",   "mxfp4",        "nvfp4",        "q3_k",  "q2_k"}) {
      add<F32>(format, rows);
      add<Bf16>(format, rows);
    }
  for (const std::int64_t rows : {256, 768, 4608})
    for (const char* format : {"q8_0", "q4_k", "q4_0"}) {
      add<F32>(format, rows);
      add<Bf16>(format, rows);
    }
  return true;
}();

}  // namespace
}  // namespace precast::bench
