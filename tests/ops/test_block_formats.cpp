// Products with weights in ggml's blocks, encoded here, against float64.
#include <cstdint>
#include <span>
#include <tuple>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/products.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/policy.hpp>
#include <precast/quant/encode.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using ProductPolicies = std::tuple<Policy<Storage<q8_0>>, Policy<Storage<q4_k>>,
                                   Policy<Storage<q8_0>, Compute<f32>>, Policy<Storage<q4_k>, Compute<f32>>>;

/// Its values by the definition of the format, in f64: not by the decoder that the product uses.
double value_in(const q8_0& block, std::size_t i) { return to_double(f16{block.scale}) * block.integers[i]; }
double value_in(const q4_k& block, std::size_t i) {
  const std::size_t group = i / 32;
  const std::uint8_t* const s = block.scales;
  const int scale = group < 4 ? s[group] % 64 : s[group + 4] % 16 + s[group - 4] / 64 * 16;
  const int least = group < 4 ? s[group + 4] % 64 : s[group + 4] / 16 + s[group] / 64 * 16;
  const int pair = block.low[group / 2 * 32 + i % 32];
  return to_double(f16{block.scale}) * scale * (group % 2 ? pair / 16 : pair % 16) -
         to_double(f16{block.least}) * least;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("linear multiplies with weights in q8_0 and q4_k", "[linear][blocks]",
                        ProductPolicies) {
  using Types = precisions<TestType, Matmul>;
  using Format = typename Types::storage;
  constexpr std::int64_t in_block = dtype_traits<Format>::values_per_block;
  std::uint32_t seed = 0;
  for (const std::int64_t rows : {1, 3, 20}) {
    constexpr std::int64_t features = 70, columns = 512;
    CAPTURE(rows);
    const auto x = random_tensor<typename Types::result>({rows, columns}, ++seed);
    const auto original = random_tensor<f32>({features, columns}, ++seed);
    const auto bias = random_tensor<f32>({features}, ++seed);
    BlockMatrix<Format, HostMemory> stored(Shape{features, columns});
    const std::span<Format> blocks(stored.data(), static_cast<std::size_t>(features * columns / in_block));
    quant::encode<Format>({original.data(), static_cast<std::size_t>(features * columns)}, blocks);
    HostTensor<f32> values(original.shape());
    for (std::int64_t i = 0; i < values.elements(); ++i)
      values.data()[i] = static_cast<f32>(
          value_in(blocks[static_cast<std::size_t>(i / in_block)], static_cast<std::size_t>(i % in_block)));
    const LinearWeight<TestType> weight(stored.view(), bias.values());
    CHECK(weight.bytes() >= stored.view().bytes());
    const auto expected = expected_products<Types>(x, values, bias);
    CHECK(expected.outside(linear<TestType>(x, weight)) == "");
    CHECK(same_on_any_threads([&] { return linear<TestType>(x, weight); }));
    // The weight before it was encoded is not what was multiplied.
    CHECK(expected_products<Types>(x, original, bias).outside(linear<TestType>(x, weight)) != "");
  }
}
