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

#include <precast/host/parallel.hpp>
#include <precast/quant/by_name.hpp>

namespace {

using namespace precast;

constexpr std::size_t count = 64 * 1024;  // values: they stay in the cache
constexpr int rounds = 15;

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

/// Values of a file of f32, in whole blocks of 256.
std::vector<f32> read_values(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<f32> values(static_cast<std::size_t>(file.tellg()) / 4 / 256 * 256);
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(4 * values.size()));
  return values;
}

/// ggml's encoder of a format; none of mxfp8, which it does not have.
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

/// Squared error of what an encoder made of values, over their squares.
double error_of(std::string_view format, const std::vector<f32>& values, quant::Encoder encoder) {
  const auto info =
      *std::ranges::find(block_formats, format, [](const BlockFormat& f) { return f.info.name; });
  std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(info.info.values_per_block) *
                               static_cast<std::size_t>(info.info.bytes_per_block));
  quant::encode(format, values, bytes, {encoder, {}});
  std::vector<f32> back(values.size());
  quant::decode(format, bytes, back);
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
  for (const BlockFormat& format : block_formats) {
    const std::string name(format.info.name);
    const std::size_t bytes = count / static_cast<std::size_t>(format.info.values_per_block) *
                              static_cast<std::size_t>(format.info.bytes_per_block);
    std::vector<std::byte> ours(bytes), theirs(bytes), found(bytes);
    const Ggml ggml(library, name);
    std::vector<double> encode, encode_theirs, search;
    for (int round = 0; round < rounds; ++round) {
      encode.push_back(seconds_of([&] { quant::encode(name, values, ours); }));
      if (ggml.encode)
        encode_theirs.push_back(seconds_of([&] { ggml.encode(values.data(), theirs.data()); }));
      if (round % 5 == 0)
        search.push_back(seconds_of([&] {
          quant::encode(name, values, found, {quant::Encoder::search, {}});
        }));
    }
    if (ggml.encode && ours != theirs) {
      std::fprintf(stderr, "%s: the encoders' bytes differ, so their speeds mean nothing\n", name.c_str());
      return 1;
    }
    const double gigabytes = 4e-9 * static_cast<double>(count);
    std::printf(R"({"format": "%s", "encode": %g, "search": %g)", name.c_str(), gigabytes / median(encode),
                gigabytes / median(search));
    if (ggml.encode) std::printf(R"(, "encode_ratio": %g)", median(encode_theirs) / median(encode));
    for (const auto& [what, where] : {std::pair{"bell", &values}, {"model", &model}})
      if (!where->empty())
        std::printf(R"(, "%s": [%g, %g])", what, error_of(name, *where, quant::Encoder::reference),
                    error_of(name, *where, quant::Encoder::search));
    std::printf("}\n");
    std::fflush(stdout);
  }
}
