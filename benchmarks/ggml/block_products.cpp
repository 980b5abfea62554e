// Products with weights in blocks beside ggml's, on one thread: one row of 3072 by 12288 features, 256 + 512
// rows by 512 features, and the linear layers of a double block of Flux. ggml rounds rows to 8 bits first
// (its vec_dot); ours multiply operands of the policy.
//
// Floor of one row: the weight's bytes are read once; measured in turn as the sum of as many. All of them go
// over as many layers as no cache holds.
//
// G is vendor/llama.cpp/ggml of the source of llama-cpp-python (block_formats.py). ggml_cpu.so, its argument,
// is made of G/src/ggml-cpu/arch/x86/quants.c, G/src/ggml-cpu/quants.c and G/src/ggml-quants.c by
//   gcc -O3 -march=native -DNDEBUG -fPIC -shared -w -IG/include -IG/src -IG/src/ggml-cpu -lm
//   -Wl,--unresolved-symbols=ignore-all
// and this by
//   g++ -std=c++20 -O3 -DNDEBUG -march=native -ffp-contract=off -rdynamic -Iinclude -ldnnl -lgomp -ldl
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <dlfcn.h>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/policy.hpp>

// Tables that ggml's program fills.
extern "C" {
float ggml_table_f32_f16[65536];
float ggml_table_f32_e8m0_half[256];
float ggml_table_f32_ue4m3[256];
}

using namespace precast;

namespace {

using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
constexpr std::int64_t columns = 3072;

double thread_seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Medians of `rounds` rounds, in each of which the functions take turns.
template <class... F>
std::array<double, sizeof...(F)> in_turn(int rounds, F&&... functions) {
  std::array<std::vector<double>, sizeof...(F)> times;
  for (int round = 0; round < rounds; ++round) {
    std::size_t i = 0;
    const auto measure = [&](auto& function) {
      const double start = thread_seconds();
      function();
      times[i++].push_back(thread_seconds() - start);
    };
    (measure(functions), ...);
  }
  std::array<double, sizeof...(F)> medians;
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::ranges::sort(times[i]);
    medians[i] = times[i][times[i].size() / 2];
  }
  return medians;
}

/// ggml's functions for a format.
struct Ggml {
  using Dot = void (*)(int, float*, std::size_t, const void*, std::size_t, const void*, std::size_t, int);
  using Quantise = void (*)(const float*, void*, std::int64_t);
  Dot dot;
  Quantise quantise;
  std::size_t bytes_per_row;  ///< of x
};

template <PolicyType P>
LinearWeight<P> weight_of(const DtypeInfo& format, std::int64_t features, std::vector<std::byte>& bytes,
                          std::int64_t in = columns) {
  const auto fill = [&](std::span<std::byte> rows) {
    bytes.resize(rows.size());
    std::uint32_t state = 1;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 26);
    std::ranges::copy(bytes, rows.begin());
  };
  return LinearWeight<P>::in_blocks(format, features, in, fill);
}

template <ScalarDtype T>
HostTensor<T> rows_of(std::int64_t rows, std::int64_t in = columns) {
  HostTensor<T> x(Shape{rows, in});
  std::uint32_t state = 3;
  for (T& value : x.values())
    value = convert_value<T>(static_cast<f32>((state = state * 1664525 + 1013904223) >> 20) / 2000 - 1);
  return x;
}

void run_one_row(const char* name, const DtypeInfo& format, const Ggml& ggml) {
  constexpr std::int64_t features = 12288;
  // More than the last cache holds.
  constexpr std::size_t enough = std::size_t{256} << 20;
  std::vector<std::byte> bytes, x_codes(ggml.bytes_per_row);
  std::vector<LinearWeight<F32>> in_f32;
  std::vector<LinearWeight<Bf16>> in_bf16;
  std::vector<std::byte> layers;
  while (layers.size() < enough) {
    in_f32.push_back(weight_of<F32>(format, features, bytes));
    in_bf16.push_back(weight_of<Bf16>(format, features, bytes));
    layers.insert(layers.end(), bytes.begin(), bytes.end());
  }
  const std::size_t layer = bytes.size(), row = layer / features;
  const auto x_f32 = rows_of<f32>(1);
  const auto x_bf16 = rows_of<bf16>(1);
  HostTensor<f32> out_f32(Shape{1, features}), out_ggml(Shape{1, features});
  HostTensor<bf16> out_bf16(Shape{1, features});
  std::vector<std::uint64_t> words(layers.size() / 8, 1);
  volatile std::uint64_t sum = 0;
  const auto [f32_time, bf16_time, ggml_time, read] = in_turn(
      9,
      [&] {
        for (const auto& weight : in_f32) linear_into<F32>(x_f32, weight, out_f32.view());
      },
      [&] {
        for (const auto& weight : in_bf16) linear_into<Bf16>(x_bf16, weight, out_bf16.view());
      },
      [&] {
        for (std::size_t first = 0; first < layers.size(); first += layer) {
          ggml.quantise(x_f32.data(), x_codes.data(), columns);
          for (std::int64_t f = 0; f < features; ++f)
            ggml.dot(columns, out_ggml.data() + f, 0,
                     layers.data() + first + static_cast<std::size_t>(f) * row, 0, x_codes.data(), 0, 1);
        }
      },
      [&] { sum = std::accumulate(words.begin(), words.end(), std::uint64_t{}); });
  const double values = static_cast<double>(layers.size() / layer * features * columns);
  std::printf(
      "%s, 1 row: of the rate of reading (%.1f GB/s): f32 %.2f, bf16 %.2f, ggml %.2f; ns for a value: "
      "f32 %.4f, bf16 %.4f, ggml %.4f, reading %.4f\n",
      name, 1e-9 * static_cast<double>(layers.size()) / read, read / f32_time, read / bf16_time,
      read / ggml_time, 1e9 * f32_time / values, 1e9 * bf16_time / values, 1e9 * ggml_time / values,
      1e9 * read / values);
}

/// Seconds of 512 features over some rows of `in` columns, ours and ggml's.
std::array<double, 2> seconds_of_rows(const DtypeInfo& format, const Ggml& ggml, std::int64_t rows,
                                      std::int64_t in) {
  constexpr std::int64_t features = 512;
  const std::int64_t tile = std::min<std::int64_t>(rows, 16);
  const std::size_t x_row = ggml.bytes_per_row * static_cast<std::size_t>(in / columns);
  std::vector<std::byte> bytes, x_codes(x_row * static_cast<std::size_t>(rows));
  const auto weight = weight_of<Bf16>(format, features, bytes, in);
  const auto x = rows_of<bf16>(rows, in);
  const auto x_f32 = rows_of<f32>(rows, in);
  HostTensor<bf16> out(Shape{rows, features});
  HostTensor<f32> out_ggml(Shape{rows, features});
  const std::size_t row = bytes.size() / features;
  return in_turn(
      7, [&] { linear_into<Bf16>(x, weight, out.view()); },
      [&] {
        for (std::int64_t r = 0; r < rows; ++r)
          ggml.quantise(x_f32.data() + r * in, x_codes.data() + static_cast<std::size_t>(r) * x_row, in);
        for (std::int64_t f0 = 0; f0 < features; f0 += tile)
          for (std::int64_t r0 = 0; r0 < rows; r0 += tile)
            for (std::int64_t f = f0; f < f0 + tile; ++f)
              for (std::int64_t r = r0; r < r0 + tile; ++r)
                ggml.dot(static_cast<int>(in), out_ggml.data() + r * features + f, 0,
                         bytes.data() + static_cast<std::size_t>(f) * row, 0,
                         x_codes.data() + static_cast<std::size_t>(r) * x_row, 0, 1);
      });
}

void run_rows(const char* name, const DtypeInfo& format, const Ggml& ggml) {
  const auto [ours, theirs] = seconds_of_rows(format, ggml, 768, columns);
  std::printf("%s, 768 rows, bf16: %.2f times ggml's rate\n", name, theirs / ours);
}

/// All linear layers of a double block of 3072 columns: 512 and 256 rows through q, k, v, the projection and
/// the first half of the MLP, and through its second half; one row through both modulations.
void run_block(const char* name, const DtypeInfo& format, const Ggml& ggml) {
  double ours = 0, theirs = 0;
  for (const auto& [rows, in, features] : std::vector<std::array<std::int64_t, 3>>{{512, 3072, 24576},
                                                                                   {256, 3072, 24576},
                                                                                   {512, 12288, 3072},
                                                                                   {256, 12288, 3072},
                                                                                   {1, 3072, 36864}}) {
    const auto [our_seconds, their_seconds] = seconds_of_rows(format, ggml, rows, in);
    ours += our_seconds * static_cast<double>(features) / 512;
    theirs += their_seconds * static_cast<double>(features) / 512;
  }
  std::printf("%s, linear layers of a double block, bf16: %.3f s, ggml %.3f s: %.2f times its rate\n", name,
              ours, theirs, theirs / ours);
}

}  // namespace

int main(int count, char** arguments) {
  for (int code = 0; code < 65536; ++code)
    ggml_table_f32_f16[code] = convert_value<f32>(f16{static_cast<std::uint16_t>(code)});
  void* const library = count == 2 ? dlopen(arguments[1], RTLD_LAZY) : nullptr;
  if (!library) return std::puts("give ggml_cpu.so: the first lines of this file say how it is made"), 2;
  for (int code = 0; code < 256; ++code) {
    ggml_table_f32_e8m0_half[code] = precast::detail::half_e8m0(static_cast<std::uint8_t>(code));
    ggml_table_f32_ue4m3[code] = precast::detail::half_unsigned_e4m3(static_cast<std::uint8_t>(code));
  }
  host::set_threads(1);
  struct Row {
    const char* name;
    const char* dot;
    const char* quantise;
    std::size_t bytes_per_row;
  };
  constexpr std::size_t q8_0_row = columns / 32 * 34, q8_k_row = columns / 256 * 292;
  for (const Row& row : {Row{"q8_0", "ggml_vec_dot_q8_0_q8_0", "quantize_row_q8_0", q8_0_row},
                         {"q6_k", "ggml_vec_dot_q6_K_q8_K", "quantize_row_q8_K", q8_k_row},
                         {"q5_k", "ggml_vec_dot_q5_K_q8_K", "quantize_row_q8_K", q8_k_row},
                         {"q4_k", "ggml_vec_dot_q4_K_q8_K", "quantize_row_q8_K", q8_k_row},
                         {"q4_0", "ggml_vec_dot_q4_0_q8_0", "quantize_row_q8_0", q8_0_row},
                         {"iq4_nl", "ggml_vec_dot_iq4_nl_q8_0", "quantize_row_q8_0", q8_0_row},
                         {"iq4_xs", "ggml_vec_dot_iq4_xs_q8_K", "quantize_row_q8_K", q8_k_row},
                         {"nvfp4", "ggml_vec_dot_nvfp4_q8_0", "quantize_row_q8_0", q8_0_row},
                         {"mxfp4", "ggml_vec_dot_mxfp4_q8_0", "quantize_row_q8_0", q8_0_row}}) {
    DtypeInfo format;
    visit_block_format(row.name, [&]<class T>(std::type_identity<T>) { format = dtype_info<T>; });
    const Ggml ggml{reinterpret_cast<Ggml::Dot>(dlsym(library, row.dot)),
                    reinterpret_cast<Ggml::Quantise>(dlsym(library, row.quantise)), row.bytes_per_row};
    if (!ggml.dot || !ggml.quantise) return std::printf("%s has no %s\n", arguments[1], row.dot), 1;
    run_one_row(row.name, format, ggml);
    run_rows(row.name, format, ggml);
    run_block(row.name, format, ggml);
  }
}
