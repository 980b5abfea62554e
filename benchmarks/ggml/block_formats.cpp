// Encoders of block formats, ours and ggml's in turn, on one thread: block_formats.py builds and
// runs this with ggml's C source as a shared library, and makes the tables of docs/benchmarks.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <quant/generated_values.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/by_name.hpp>
#include <precast/quant/scaled_rows.hpp>

namespace {

using namespace precast;

constexpr std::size_t count = 64 * 1024;  // values: they stay in the cache
constexpr int rounds = 15;
constexpr std::size_t columns = 1024;  // of rows under a scale

/// The time that this thread has computed: of a machine with neighbours, what is left of it is no one's.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_of(const std::function<void()>& work) {
  const double start = thread_seconds();
  work();
  return thread_seconds() - start;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// As weights are distributed, more or less: sums of 12 even numbers.
std::vector<f32> weights() {
  std::vector<f32> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    double total = -6;
    for (std::size_t k = 0; k < 12; ++k)
      total += static_cast<double>(testing::splitmix(1, 12 * i + k) >> 11) * 0x1p-53;
    values[i] = static_cast<f32>(0.02 * total);
  }
  return values;
}

/// Values of a file of f32, in whole blocks and rows.
std::vector<f32> read_values(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<f32> values(static_cast<std::size_t>(file.tellg()) / 4 / columns * columns);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(4 * values.size()));
  return values;
}

/// ggml's encoder of a format; none of mxfp8 and of rows under scales, which it does not have.
struct Ggml {
  std::function<void(const f32*, void*)> encode;

  Ggml(void* library, std::string name) {
    if (name.ends_with("_k")) name.back() = 'K';
    using Encode = void (*)(const f32*, void*, std::int64_t);
    using EncodeRows = std::size_t (*)(const f32*, void*, std::int64_t, std::int64_t, const f32*);
    // Its quantize_row_iq4_nl_ref searches less than what files are made with.
    if (name == "iq4_nl") {
      const auto function = reinterpret_cast<EncodeRows>(dlsym(library, "quantize_iq4_nl"));
      encode = [=](const f32* values, void* blocks) { function(values, blocks, 1, count, nullptr); };
    } else if (const auto function =
                   reinterpret_cast<Encode>(dlsym(library, ("quantize_row_" + name + "_ref").c_str()))) {
      encode = [=](const f32* values, void* blocks) { function(values, blocks, count); };
    }
  }
};

/// An encoder of ours, by the name of a format, and how many bytes it makes of so many values.
struct Ours {
  std::function<void(std::span<const f32>, std::span<std::byte>, const quant::EncodeOptions&)> encode;
  std::function<void(std::span<const std::byte>, std::span<f32>)> decode;
  double bytes_per_value = 0;
};
Ours ours_of(const BlockFormat& format) {
  const std::string_view name = format.info.name;
  return {[=](auto values, auto bytes, const auto& options) { quant::encode(name, values, bytes, options); },
          [=](auto bytes, auto values) { quant::decode(name, bytes, values); }, format.bits_per_value() / 8};
}
template <class Format>
Ours ours_of_rows() {
  return {[](auto values, auto bytes, const auto& options) {
            quant::encode_rows<Format>(values, columns, bytes, options);
          },
          [](auto bytes, auto values) {
            for (std::size_t r = 0; r < values.size() / columns; ++r)
              decode_run<Format>(
                  reinterpret_cast<const Format*>(bytes.data() + r * (columns + row_head_bytes)), 0, columns,
                  values.data() + r * columns);
          },
          static_cast<double>(columns + row_head_bytes) / columns};
}

/// Squared error of what an encoder made of values, over their squares.
double error_of(const Ours& ours, std::span<const f32> values, quant::Encoder encoder) {
  values = values.first(values.size() / columns * columns);
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(ours.bytes_per_value * static_cast<double>(values.size())));
  ours.encode(values, bytes, {encoder, {}});
  std::vector<f32> back(values.size());
  ours.decode(bytes, back);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(back[i]) - static_cast<double>(values[i]);
    error += off * off, size += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return error / size;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: block_formats GGML_LIBRARY [FILE_OF_F32]\n");
    return 2;
  }
  void* const library = dlopen(argv[1], RTLD_LAZY);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  host::set_threads(1);
  const std::vector<f32> values = weights();
  std::vector<f32> model;
  if (argc > 2) model = read_values(argv[2]);
  bool same = true;
  const auto measure = [&](const std::string& name, const Ours& with) {
    const auto bytes = static_cast<std::size_t>(with.bytes_per_value * static_cast<double>(count));
    std::vector<std::byte> ours(bytes), theirs(bytes), found(bytes);
    const Ggml ggml(library, name);
    std::vector<double> encode, encode_theirs, search;
    for (int round = 0; round < rounds; ++round) {
      encode.push_back(seconds_of([&] { with.encode(values, ours, {}); }));
      if (ggml.encode)
        encode_theirs.push_back(seconds_of([&] { ggml.encode(values.data(), theirs.data()); }));
      if (round % 5 == 0)
        search.push_back(seconds_of([&] { with.encode(values, found, {quant::Encoder::search, {}}); }));
    }
    if (ggml.encode && ours != theirs) {
      std::fprintf(stderr, "%s: the encoders' bytes differ, so their speeds mean nothing\n", name.c_str());
      same = false;
      return;
    }
    const double gigabytes = 4e-9 * static_cast<double>(count);
    std::printf(R"({"format": "%s", "encode": %g, "search": %g)", name.c_str(), gigabytes / median(encode),
                gigabytes / median(search));
    if (ggml.encode) std::printf(R"(, "encode_ratio": %g)", median(encode_theirs) / median(encode));
    for (const auto& [what, where] : {std::pair{"bell", &values}, {"model", &model}})
      if (!where->empty())
        std::printf(R"(, "%s": [%g, %g])", what, error_of(with, *where, quant::Encoder::reference),
                    error_of(with, *where, quant::Encoder::search));
    std::printf("}\n");
    std::fflush(stdout);
  };
  for (const BlockFormat& format : block_formats) measure(std::string(format.info.name), ours_of(format));
  any_scaled_row_dtype([&]<class Format>(std::type_identity<Format>) {
    measure(std::string(dtype_traits<Format>::name), ours_of_rows<Format>());
    return false;
  });
  return same ? 0 : 1;
}
