// TorchGenerator against what PyTorch drew (tests/golden/randoms.py).
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sampling/torch_random.hpp>

#include <precast/io/safetensors.hpp>

using precast::bf16, precast::f16, precast::f32, precast::Shape;
using precast::io::SafetensorsFile;
using precast::sampling::TorchGenerator;

namespace {

const SafetensorsFile& goldens() {
  static const SafetensorsFile file(std::filesystem::path(PRECAST_SOURCE_DIR) /
                                    "tests/golden/expected/randn.safetensors");
  return file;
}

/// Values that differ from the golden tensor in any bit.
template <class T>
int differing(const precast::Tensor<T>& drawn, const precast::io::TensorEntry& golden) {
  REQUIRE(drawn.shape() == golden.shape);
  REQUIRE(golden.dtype.info == precast::dtype_info<T>);
  int count = 0;
  for (std::size_t i = 0; i < drawn.values().size(); ++i)
    count += std::memcmp(drawn.data() + i, golden.bytes.data() + i * sizeof(T), sizeof(T)) != 0;
  return count;
}

template <class T>
void check_dtype(const std::string& suffix) {
  int tensors = 0;
  for (const auto& entry : goldens().tensors()) {
    if (!entry.name.starts_with("seed") || !entry.name.ends_with(suffix)) continue;
    INFO(entry.name);
    TorchGenerator generator(std::stoull(entry.name.substr(4)));
    CHECK(differing(generator.randn<T>(entry.shape), entry) == 0);
    ++tensors;
  }
  CHECK(tensors >= 10);
}

template <class T>
void check_sequence(std::uint64_t seed, const std::string& label) {
  const auto sizes =
      nlohmann::json::parse(goldens().metadata().at("sequence")).get<std::vector<std::int64_t>>();
  TorchGenerator generator(seed);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string number = (i < 10 ? "0" : "") + std::to_string(i);
    const auto& golden =
        goldens().at("sequence.seed" + std::to_string(seed) + "." + label + ".draw" + number);
    INFO(golden.name << ", " << sizes[i] << " values");
    CHECK(differing(generator.randn<T>(Shape{sizes[i]}), golden) == 0);
  }
}

}  // namespace

TEST_CASE("randn draws PyTorch's f32 values bit for bit") { check_dtype<f32>(".f32"); }

TEST_CASE("randn draws PyTorch's bf16 and f16 values bit for bit") {
  check_dtype<bf16>(".bf16");
  check_dtype<f16>(".f16");
}

TEST_CASE("consecutive draws continue one stream, spare values and tails included") {
  check_sequence<f32>(1, "f32");
  check_sequence<f32>((std::uint64_t{1} << 32) + 5, "f32");
  check_sequence<bf16>(1, "bf16");
  check_sequence<f16>(1, "f16");
}

TEST_CASE("a draw fills its shape in row-major order") {
  TorchGenerator generator(7);
  CHECK(differing(generator.randn(Shape{2, 3, 5, 7}), goldens().at("shaped.seed7")) == 0);
}

// By PyTorch 2.15 on a CPU with AVX2 and on one with AVX-512. Rounding the product before the sum makes the
// second value another.
TEST_CASE("uniform draws PyTorch's values bit for bit") {
  const std::vector<f32> expected{-0x1.82dffcp+2f, -0x1.6402e6p+1f, -0x1.5e065p+3f,
                                  -0x1.4d4cep+3f,  -0x1.09f31cp+3f, -0x1.190710p+2f};
  const auto drawn = TorchGenerator(0).uniform(Shape{6}, -12, 0);
  CHECK(std::vector<f32>(drawn.values().begin(), drawn.values().end()) == expected);
}

TEST_CASE("a seed counts modulo 2^32") {
  TorchGenerator wide((std::uint64_t{1} << 40) + 9), narrow(9);
  const auto a = wide.randn(Shape{50}), b = narrow.randn(Shape{50});
  CHECK(std::memcmp(a.data(), b.data(), 50 * sizeof(f32)) == 0);
}

TEST_CASE("an empty draw takes nothing from the stream") {
  TorchGenerator once(3), twice(3);
  CHECK(twice.randn(Shape{0, 4}).elements() == 0);
  const auto a = once.randn(Shape{16}), b = twice.randn(Shape{16});
  CHECK(std::memcmp(a.data(), b.data(), 16 * sizeof(f32)) == 0);
}

TEST_CASE("a million draws are finite and normal") {
  TorchGenerator generator(0);
  const auto drawn = generator.randn(Shape{1 << 20});
  double sum = 0, squares = 0;
  for (const f32 x : drawn.values()) {
    sum += x;
    squares += double{x} * x;
  }
  CHECK(std::abs(sum / (1 << 20)) < 4.0 / 1024);                 // 4 standard errors
  CHECK(std::abs(squares / (1 << 20) - 1) < 4 * 1.4143 / 1024);  // variance of a squared normal is 2
}
