// Modules whose policy stores matrices in blocks: blocks are taken as a file has them, and vectors are f32.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/block_matrix.hpp>
#include <support/memory_source.hpp>
#include <support/products.hpp>

#include <precast/nn/conv.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/ops/embedding.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using P = Policy<Storage<Blocks32>, Compute<bf16>, Activation<f32>>;
using OfBf16 = Policy<Storage<bf16>>;

static_assert(std::is_same_v<precisions<P, Matmul>::storage, Blocks32>);
static_assert(std::is_same_v<precisions<P, Matmul>::vector_storage, f32>);
static_assert(std::is_same_v<precisions<P, Norm>::storage, f32>);
static_assert(std::is_same_v<precisions<OfBf16, Matmul>::vector_storage, bf16>);
static_assert(std::is_same_v<precisions<OfBf16, Norm>::storage, bf16>);

/// Values that no format of 16 bits has.
std::vector<f32> thirds(std::int64_t count) {
  std::vector<f32> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<f32>(i + 1) / 3);
  return values;
}

std::string message_of(const auto& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a linear layer reads blocks as a file has them, and its bias in f32", "[blocks]") {
  const auto stored = random_blocks({70, 50}, 1);
  MemorySource source;
  source.add<Blocks32>("layer.weight", {70, 50}, stored.view());
  source.add<f32>("layer.bias", {70}, thirds(70));
  const nn::Linear<P> layer(nn::ParameterPath(source) / "layer", 50, 70);
  CHECK(source.bytes_taken() == source.total_bytes());
  const auto x = random_tensor<f32>({5, 50}, 2);
  const HostTensor<f32> bias(Shape{70}, thirds(70));
  using Types = precisions<P, Matmul>;
  CHECK(expected_products<Types>(x, values_of(stored), bias).outside(layer(x)) == "");
  const HostTensor<f32> nothing = filled<f32>({5, 50}, 0);
  CHECK(layer(nothing).view().row(3)[0] == 1.0f / 3);  // the bias itself, not rounded to a narrower format
}

TEST_CASE("a convolution reads rows of blocks as pixels lie", "[blocks]") {
  const auto stored = random_blocks({9, 40}, 1);
  // One pixel of 40 channels: the order of values is the same in a file.
  MemorySource source;
  source.add<f32>("bias", {9}, thirds(9));
  source.add<Blocks32>("weight", {9, 40, 1, 1}, stored.view());
  const nn::Conv2d<P> conv(nn::ParameterPath(source), 40, 9, 1);
  const auto x = random_tensor<f32>({1, 3, 4, 40}, 2);
  const HostTensor<f32> bias(Shape{9}, thirds(9));
  CHECK(expected_products<precisions<P, Conv>>(x, values_of(stored), bias).outside(conv(x)) == "");
}

TEST_CASE("norms keep their parameters in f32 where matrices are blocks", "[blocks]") {
  MemorySource source;
  source.add<f32>("weight", {6}, thirds(6));
  const nn::RmsNorm<P> norm(nn::ParameterPath(source), 6, 0);
  const HostTensor<f32> x = filled<f32>({2, 6}, 4);
  const auto result = norm(x);
  for (std::size_t i = 0; i < 6; ++i) CHECK(result.view().row(1)[i] == static_cast<f32>(i + 1) / 3);
}

TEST_CASE("a table in blocks is loaded whole", "[blocks]") {
  const auto stored = random_blocks({7, 33}, 1);
  MemorySource source;
  source.add<Blocks32>("table", {7, 33}, stored.view());
  const auto table = nn::load_matrix<Blocks32>(nn::ParameterPath(source) / "table", {7, 33});
  const auto found = embedding<P>(table, std::vector<std::int32_t>{6});
  const auto values = values_of(stored);
  for (std::size_t i = 0; i < 33; ++i) REQUIRE(found.view().row(0)[i] == values.view().row(6)[i]);
}

TEST_CASE("a file that holds something else than the blocks that are asked for is an error", "[blocks]") {
  MemorySource source;
  source.add<f16>("weight", {70, 50}, thirds(3500));
  const nn::ParameterPath place(source);
  const auto load = [&] { nn::Linear<P>(place, 50, 70, nn::Bias::absent); };
  const std::string message = message_of(load);
  CHECK_THAT(message, Catch::Contains("'weight'") && Catch::Contains("f16") && Catch::Contains("blocks32"));
  // Nor do scalars come out of blocks that the library does not know.
  const auto stored = random_blocks({2, 32}, 1);
  source.add<Blocks32>("blocks", {2, 32}, stored.view());
  CHECK_THAT(message_of([&] {
               nn::load_tensor<f32>(place / "blocks", {2, 32});
             }),
             Catch::Contains("blocks32"));
}
