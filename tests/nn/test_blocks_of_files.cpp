// A linear layer of a policy of scalars whose file has the weight in blocks: they stay as they are.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/block_source.hpp>
#include <support/memory_source.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>
#include <precast/nn/linear.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

MemorySource layers() {
  MemorySource source;
  const auto weight = random_tensor<f32>({128, 512}, 1), bias = random_tensor<f32>({128}, 2);
  source.add<f32>("a.weight", {128, 512}, weight.values());
  source.add<f32>("b.weight", {128, 512}, weight.values());
  source.add<f32>("a.bias", {128}, bias.values());
  source.add<f32>("b.bias", {128}, bias.values());
  return source;
}

/// What a load takes.
template <class Load>
std::int64_t taken(Load&& load) {
  const std::int64_t before = memory_use().in_use;
  const auto made = load();
  return memory_use().in_use - before;
}

}  // namespace

TEMPLATE_TEST_CASE("each linear layer keeps the format that its file has", "[blocks]", Policy<Storage<f32>>,
                   Policy<Storage<bf16>>) {
  using P = TestType;
  const MemorySource values = layers();
  BlockSource source(values, [](std::string_view name, const Shape&) {
    return std::string_view(name == "a.weight" ? "q6_k" : "q4_0");
  });
  const auto x = random_tensor<typename nn::Linear<P>::Result>({7, 512}, 3);
  for (const auto& [name, bytes] : {std::pair("a", 128 * 2 * 210), {"b", 128 * 16 * 18}}) {
    const nn::ParameterPath place = nn::ParameterPath(source) / name;
    const auto load = [&] { return nn::Linear<P>(place, 512, 128); };
    source.give(BlockSource::Give::values);
    const auto dense = load()(x);
    const std::int64_t of_values = taken(load);
    source.give(BlockSource::Give::blocks);
    const auto packed = load()(x);
    CHECK(same_bits(packed, dense));
    constexpr auto in_value = static_cast<std::int64_t>(sizeof(typename nn::Linear<P>::Storage));
    CHECK(of_values - taken(load) == 128 * 512 * in_value - bytes);
    // A dry run counts the same.
    const std::int64_t real = taken(load);
    DryRun dry;
    const auto described = load();
    CHECK(dry.in_use() == real);
  }
}

TEST_CASE("blocks of a file are taken whole, and reported", "[blocks]") {
  MemorySource source;
  const auto values = random_tensor<f32>({64, 64}, 1);
  const auto bytes = encoded("q8_0", values.values());
  BlockMatrix<q8_0, HostMemory> blocks(Shape{64, 64});
  std::memcpy(static_cast<void*>(blocks.data()), bytes.data(), bytes.size());
  source.add<q8_0>("weight", {64, 64}, blocks.view());
  using P = Policy<Storage<bf16>>;
  const nn::Linear<P> layer(nn::ParameterPath(source), 64, 64, nn::Bias::absent);
  CHECK(source.bytes_taken() == bytes.size());
}
