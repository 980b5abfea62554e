// Weights in blocks on this translation unit's backend against float64: a dtype that the library does not
// know is multiplied by few rows and by many, looked up and convolved with.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/policy_lists.hpp>
#include <op_cases/run.hpp>
#include <support/block_matrix.hpp>
#include <support/indices_there.hpp>
#include <support/lookups.hpp>
#include <support/products.hpp>

#include <precast/ops/conv.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/linear_input_gradient.hpp>
#include <precast/ops/matmul.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// A table in the memory that ops read.
StoredMatrix<Blocks32> there(const BlockMatrix<Blocks32, HostMemory>& matrix) {
  return StoredMatrix<Blocks32>(HostStoredView<const Blocks32>(matrix.view()));
}

struct BlockProductCase {
  std::int64_t rows, columns, features;
};
/// Rows for each kernel; columns that end in a block and in the middle of one, features around panels and
/// tiles.
constexpr BlockProductCase block_product_cases[] = {
    {1, 32, 1},  {1, 600, 9},   {1, 1031, 130}, {2, 64, 65},   {4, 45, 7},    {7, 96, 70},    {7, 31, 16},
    {9, 64, 33}, {20, 160, 65}, {33, 100, 64},  {70, 33, 130}, {300, 96, 40}, {300, 700, 200}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("linear multiplies with a weight in blocks", "[linear][blocks]", BlockPolicies) {
  using Types = precisions<TestType, Matmul>;
  static_assert(std::is_same_v<typename Types::vector_storage, f32>);
  std::uint32_t seed = 1;
  for (const BlockProductCase& c : block_product_cases) {
    if (c.rows * c.columns * c.features > most_multiplications) continue;
    CAPTURE(c.rows, c.columns, c.features);
    const auto x = random_tensor<typename Types::result>({c.rows, c.columns}, ++seed);
    const auto stored = random_blocks({c.features, c.columns}, ++seed);
    const auto bias = random_tensor<f32>({c.features}, ++seed);
    const LinearWeight<TestType> weight(stored.view(), bias.values());
    const auto expected = expected_products<Types>(x, values_of(stored), bias);
    for (const ActivationFunction activate : {ActivationFunction::none, ActivationFunction::gelu_tanh}) {
      const auto run = [&] { return linear<TestType>(sent(x), weight, {.activation = activate}); };
      CHECK(expected.outside(run(), activate) == "");
      check_repeats(run);
    }
    // A scale of another block is noticed, where sums are not themselves as far off as it is.
    const LinearWeight<TestType> wrong(with_scales_of_others(stored).view(), bias.values());
    if (std::is_same_v<typename Types::accumulate, f32> && c.features * c.columns > 32)
      CHECK(expected.outside(linear<TestType>(sent(x), wrong)) != "");
  }
}

TEMPLATE_LIST_TEST_CASE("blocks that lie where ops read them are multiplied there", "[linear][blocks]",
                        BlockPolicies) {
  const auto stored = random_blocks({70, 100}, 1);
  const auto bias = random_tensor<f32>({70}, 2);
  const auto blocks = there(stored);
  const auto bias_there = sent(bias);
  const LinearWeight<TestType> loaded(stored.view(), bias.values());
  const auto borrowed = LinearWeight<TestType>::borrowed(blocks, bias_there);
  for (const std::int64_t rows : {2, 70}) {
    const auto x = sent(random_tensor<typename TestType::activation>({rows, 100}, 3));
    CHECK(same_bits(linear<TestType>(x, borrowed), linear<TestType>(x, loaded)));
  }
}

TEMPLATE_LIST_TEST_CASE("a weight in blocks is filled row by row and takes the bytes of its blocks",
                        "[linear][blocks]", BlockPolicies) {
  const auto stored = random_blocks({150, 70}, 1);
  std::int64_t next = 0;
  const LinearWeight<TestType> weight(150, 70, [&](std::int64_t first, HostStoredView<Blocks32> rows) {
    REQUIRE(first == next);
    REQUIRE(rows.columns() == 70);
    next += rows.rows();
    rows_of_matrix<Blocks32>(stored.view())(first, rows);
  });
  CHECK(next == 150);
  CHECK(weight.bytes() == 150 * 3 * 34);
  CHECK(weight.bias().elements() == 0);
}

TEMPLATE_LIST_TEST_CASE("embedding decodes rows of a table in blocks", "[pointwise][blocks]", BlockPolicies) {
  using A = typename TestType::activation;
  for (const std::int64_t columns : {1, 32, 70, 5000}) {
    CAPTURE(columns);
    const auto table = random_blocks({11, columns}, 1);
    const auto values = values_of(table);
    std::vector<std::int32_t> ids(columns == 70 ? 600 : 4);  // more than travel with one launch
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((i * 7 + 10) % 11);
    const auto wrong_in = [&](const auto& matrix) {
      const auto result = to_host(embedding<TestType>(there(matrix), ids));
      REQUIRE(result.shape() == Shape{static_cast<std::int64_t>(ids.size()), columns});
      return wrong_lookups<A>(result, values, ids);
    };
    CHECK(wrong_in(table) == 0);
    CHECK(wrong_in(with_scales_of_others(table)) > 0);
    CHECK(embedding<TestType>(there(table), std::span<const std::int32_t>{}).shape() == Shape{0, columns});
  }
  const auto table = there(random_blocks({11, 320}, 1));
  const auto expected = to_host(embedding<TestType>(table, std::vector<std::int32_t>{10, 0, 4}));
  const IndicesThere<std::int64_t> numbers({10, 0, 11, 4});
  const auto found = to_host(embedding<TestType>(table, numbers.view()));
  for (const auto& [row, of_expected] : {std::pair{0, 0}, {1, 1}, {3, 2}})
    CHECK(std::ranges::equal(found.view().row(row), expected.view().row(of_expected)));
  CHECK(std::ranges::all_of(found.view().row(2), [](auto value) { return std::isnan(to_double(value)); }));
  CHECK_THROWS_AS(embedding<TestType>(there(random_blocks({3, 5}, 1)), std::vector<std::int32_t>{3}),
                  InputError);
}

TEMPLATE_LIST_TEST_CASE("conv2d multiplies with a weight in blocks", "[conv][blocks]", BlockPolicies) {
  using Types = precisions<TestType, Conv>;
  constexpr ConvCase pictures[] = {
      {1, 5, 7, 9, 64, 3, 3, 1, 1, 1, 1, 1},   {2, 9, 9, 50, 9, 1, 1},
      {2, 8, 6, 16, 8, 3, 3, 2, 0, 0, 1, 1},   {1, 1, 1, 17, 3, 1, 1},
      {1, 34, 35, 4, 9, 3, 3, 2, 1, 1, 1, 1},  {1, 46, 51, 5, 128, 2, 5, 1, 0, 3, 1, 2},
      {2, 90, 31, 19, 70, 3, 3, 1, 1, 1, 1, 1}};
  std::uint32_t seed = 1;
  for (const ConvCase& c : pictures) {
    if (c.multiplications() > most_multiplications) continue;
    CAPTURE(c.height, c.width, c.channels, c.features);
    const std::int64_t taps = c.kernel_height * c.kernel_width, columns = taps * c.channels;
    const auto x = random_tensor<typename Types::result>(c.picture(), ++seed);
    const auto stored = random_blocks({c.features, columns}, ++seed, 0.3);
    const auto bias = random_tensor<f32>({c.features}, ++seed);
    // The reference takes a weight as files have it.
    const auto values = values_of(stored);
    HostTensor<f32> in_file(c.weight());
    for (std::int64_t f = 0; f < c.features; ++f)
      for (std::int64_t k = 0; k < c.channels; ++k)
        for (std::int64_t tap = 0; tap < taps; ++tap)
          in_file.data()[f * columns + k * taps + tap] = values.data()[f * columns + tap * c.channels + k];
    const auto expected = expected_conv<Types>(c, x, in_file, bias);
    const auto run = [&](const auto& matrix) {
      const ConvWeight<TestType> weight(c.features, c.channels, c.kernel_height, c.kernel_width,
                                        rows_of_matrix<Blocks32>(matrix.view()), bias.values());
      return conv2d<TestType>(sent(x), weight, {c.stride, c.pad_top, c.pad_left, c.pad_bottom, c.pad_right});
    };
    CHECK(expected.outside(run(stored)) == "");
    check_repeats([&] { return run(stored); });
    CHECK(expected.outside(run(with_scales_of_others(stored))) != "");
  }
}

TEMPLATE_LIST_TEST_CASE("the watch hook's f32 products decode the same blocks", "[linear][blocks]",
                        BlockPolicies) {
  using Types = precisions<TestType, Matmul>;
  using InF32 = widened_to_f32<Types>;
  const auto stored = random_blocks({100, 45}, 1, 0.2);
  const auto bias = random_tensor<f32>({100}, 2);
  const LinearWeight<TestType> packed(stored.view(), bias.values());
  for (const std::int64_t rows : {1, 7, 33}) {
    CAPTURE(rows);
    const auto x = random_tensor<typename Types::result>({rows, 45}, 3);
    const Tensor<typename Types::result> on_backend = sent(x);
    Tensor<f32> in_f32({rows, 100});
    backend::matmul_transposed<InF32>(as_view(on_backend), packed.weight(),
                                      packed.epilogue(ActivationFunction::none), in_f32.view());
    CHECK(expected_products<InF32>(x, values_of(stored), bias).outside(in_f32) == "");
  }
}

TEMPLATE_LIST_TEST_CASE("linear_input_gradient multiplies by a weight in blocks that is transposed",
                        "[linear][blocks]", BlockPolicies) {
  using Types = precisions<TestType, Matmul>;
  const auto stored = random_blocks({70, 100}, 1, 0.2);
  const auto values = values_of(stored);
  HostTensor<f32> turned(Shape{100, 70});
  for (std::int64_t r = 0; r < 70; ++r)
    for (std::int64_t c = 0; c < 100; ++c) turned.data()[c * 70 + r] = values.data()[r * 100 + c];
  const TransposedWeight<TestType> weight{LinearWeight<TestType>(stored.view())};
  const auto others = with_scales_of_others(stored);
  const TransposedWeight<TestType> of_other_scales{LinearWeight<TestType>(others.view())};
  for (const std::int64_t rows : {1, 7, 40}) {
    const auto y = random_tensor<typename Types::result>({rows, 70}, 2);
    CHECK(expected_products<Types>(y, turned, HostTensor<f32>())
              .outside(linear_input_gradient<TestType>(sent(y), weight)) == "");
    CHECK(expected_products<Types>(y, turned, HostTensor<f32>())
              .outside(linear_input_gradient<TestType>(sent(y), of_other_scales)) != "");
  }
}
