// Attention against float64: plain and flash, every operand dtype, odd sizes, masks, and scores that
// overflow.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/attention.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using F32Flash = Policy<Storage<f32>, Flash>;
using Bf16 = Policy<Storage<bf16>>;
using Bf16Flash = Policy<Storage<bf16>, Flash>;
using F16 = Policy<Storage<f16>>;
using F16Flash = Policy<Storage<f16>, Flash>;
using F16Upcast = Policy<Storage<f16>, Upcast<Attention>>;
using Tf32Flash = Policy<Storage<f32>, Compute<tf32>, Flash>;
using Fp8Flash = Policy<Storage<bf16>, Compute<fp8_e4m3>, Flash>;
using F16Sums = Policy<Storage<f16>, Accumulate<f16>>;
using Bf16InF32 = Policy<Storage<bf16>, Activation<f32>>;
using F16Saturate = Policy<Storage<f16>, Overflow<Saturate>>;

constexpr f32 inf = std::numeric_limits<f32>::infinity();

/// Runs a case and says where it leaves its bounds.
template <class P>
std::string wrong_in(const AttentionCase& c) {
  using A = typename P::activation;
  const auto q = random_tensor<A>(Shape{c.batch, c.queries, c.heads * c.width}, 1, c.size);
  const auto k = random_tensor<A>(Shape{c.batch, c.keys, c.heads * c.width}, 2, c.size);
  const auto v = random_tensor<A>(Shape{c.batch, c.keys, c.heads * c.width}, 3, 1, 0.5);
  Tensor<f32> bias(c.biased ? Shape{c.heads, c.queries, c.keys} : Shape{0});
  if (c.biased) {
    bias = random_tensor<f32>(bias.shape(), 4, 2);
    for (std::int64_t i = 0; i < bias.elements(); i += 3) bias.data()[i] = -inf;
  }
  AttentionOptions options;
  options.heads = c.heads;
  options.scale = c.scale;
  options.causal = c.causal;
  if (c.biased) options.bias = bias;
  const auto result = attention<P>(q, k, v, options);
  if (!same_on_any_threads([&] { return attention<P>(q, k, v, options); })) return "bits depend on threads";
  const AttentionReference<precisions<P, Attention>> reference(c, q, k, v, bias, P::flash);
  return outside(result, reference.values, [&](std::size_t i) { return reference.bounds[i]; });
}

}  // namespace

TEMPLATE_TEST_CASE("attention follows its definition", "[attention]", F32, F32Flash, Bf16, Bf16Flash, F16,
                   F16Flash, F16Upcast, Tf32Flash, Fp8Flash, F16Sums, Bf16InF32) {
  for (const std::int64_t width : {1, 7, 8, 16, 33, 40, 64, 100, 128, 256})
    CHECK(wrong_in<TestType>({2, 3, 19, 23, width}) == "");
  // Fewer keys than a block, just one more than two, several tiles of queries, one key, one query.
  for (const auto& [queries, keys] :
       {std::pair{5, 3}, {50, 257}, {200, 130}, {97, 128}, {9, 1}, {1, 300}, {1, 1}})
    CHECK(wrong_in<TestType>({1, 2, queries, keys, 24}) == "");
  for (const auto& [queries, keys] : {std::pair{1, 1}, {130, 130}, {20, 150}, {150, 20}})
    CHECK(wrong_in<TestType>({2, 2, queries, keys, 16, true}) == "");
  CHECK(wrong_in<TestType>({1, 3, 100, 140, 16, false, true}) == "");
  CHECK(wrong_in<TestType>({2, 3, 33, 33, 16, true, true, 1.0f}) == "");
  CHECK(wrong_in<TestType>({1, 2, 30, 140, 32, false, false, 0.7f}) == "");
  CHECK(wrong_in<TestType>({1, 2, 30, 140, 32, false, false, -0.1f}) == "");
  CHECK(wrong_in<TestType>({1, 2, 30, 140, 64, false, false, 0, 3}) == "");
}

TEMPLATE_TEST_CASE("attention of nothing is nothing, and to nothing is zero", "[attention]", F32, F32Flash) {
  const auto run = [](std::int64_t batch, std::int64_t queries, std::int64_t keys, std::int64_t values) {
    const auto q = random_tensor<f32>(Shape{batch, queries, values}, 1),
               k = random_tensor<f32>(Shape{batch, keys, values}, 2);
    AttentionOptions options;
    options.heads = 2;
    return attention<TestType>(q, k, k, options);
  };
  CHECK(run(1, 0, 5, 8).shape() == Shape{1, 0, 8});
  CHECK(run(0, 3, 5, 8).shape() == Shape{0, 3, 8});
  CHECK(run(1, 3, 5, 0).shape() == Shape{1, 3, 0});
  for (const double value : wide(run(1, 3, 0, 8))) CHECK(value == 0);
}

TEMPLATE_TEST_CASE("rows that a bias hides altogether are zeros", "[attention]", F32, F32Flash, Bf16,
                   Bf16Flash, F16, F16Saturate) {
  using A = typename TestType::activation;
  const auto q = random_tensor<A>(Shape{1, 3, 8}, 1), k = random_tensor<A>(Shape{1, 140, 8}, 2);
  Tensor<f32> bias(Shape{1, 3, 140});
  for (std::int64_t i = 0; i < bias.elements(); ++i) bias.data()[i] = i / 140 == 1 ? -inf : 0.0f;
  AttentionOptions options;
  options.bias = bias;
  const auto result = wide(attention<TestType>(q, k, k, options));
  for (std::size_t i = 0; i < result.size(); ++i) CHECK((result[i] == 0) == (i / 8 == 1));
}

TEST_CASE("a slice of columns takes attention's result", "[attention]") {
  const auto x = random_tensor<bf16>(Shape{1, 70, 3 * 32}, 1);
  const auto part = [&](int i) { return x.view().columns_between(i * 32, 32); };
  AttentionOptions options;
  options.heads = 2;
  Tensor<bf16> target(Shape{1, 70, 50});
  std::fill(target.values().begin(), target.values().end(), from_double<bf16>(5));
  attention_into<Bf16Flash>(part(0), part(1), part(2), options, target.view().columns_between(10, 32));
  Tensor<bf16> whole[3] = {Tensor<bf16>(Shape{1, 70, 32}), Tensor<bf16>(Shape{1, 70, 32}),
                           Tensor<bf16>(Shape{1, 70, 32})};
  for (int i = 0; i < 3; ++i) copy_into<Bf16>(part(i), whole[i].view());
  CHECK(wide(target.view().columns_between(10, 32)) ==
        wide(attention<Bf16Flash>(whole[0], whole[1], whole[2], options)));
  for (const double value : wide(target.view().columns_between(0, 10))) CHECK(value == 5);
  for (const double value : wide(target.view().columns_between(42, 8))) CHECK(value == 5);
}

TEST_CASE("f16 scores overflow in plain attention, and neither with Upcast<Attention> nor with Flash",
          "[attention]") {
  // Every score is about 100 * 100 * 64 / 8 = 80,000: one number for a whole row, which a softmax does not
  // feel.
  auto q = random_tensor<f16>(Shape{1, 20, 64}, 1, 0.05, 100),
       k = random_tensor<f16>(Shape{1, 30, 64}, 2, 0.05, 100);
  const auto v = random_tensor<f16>(Shape{1, 30, 64}, 3);
  for (const double value : wide(attention<F16>(q, k, v, {}))) CHECK(std::isnan(value));
  const AttentionCase c{1, 1, 20, 30, 64};
  const AttentionReference<precisions<F16Upcast, Attention>> reference(c, q, k, v, Tensor<f32>(), false);
  const auto bound = [&](std::size_t i) { return reference.bounds[i]; };
  CHECK(outside(attention<F16Upcast>(q, k, v, {}), reference.values, bound) == "");
  for (const double value : wide(attention<F16Flash>(q, k, v, {}))) CHECK(std::isfinite(value));
  // One score that overflows makes its own row NaN, and no other.
  auto small = random_tensor<f16>(Shape{1, 20, 64}, 4);
  for (std::int64_t d = 0; d < 64; ++d) small.data()[7 * 64 + d] = from_double<f16>(200);
  const auto rows = wide(attention<F16>(small, k, v, {}));
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(std::isnan(rows[i]) == (i / 64 == 7));
  // Saturated scores are numbers again, if not the right ones.
  for (const double value : wide(attention<F16Saturate>(q, k, v, {}))) CHECK(std::isfinite(value));
}

TEMPLATE_TEST_CASE("a NaN or an infinity among the inputs reaches its rows", "[attention]", F32, F32Flash,
                   Bf16Flash, F16) {
  using A = typename TestType::activation;
  auto q = random_tensor<A>(Shape{1, 5, 8}, 1), k = random_tensor<A>(Shape{1, 150, 8}, 2), v = k.clone();
  q.data()[2 * 8 + 3] = from_double<A>(std::nan(""));
  const auto by_query = wide(attention<TestType>(q, k, v, {}));
  for (std::size_t i = 0; i < by_query.size(); ++i) CHECK(std::isnan(by_query[i]) == (i / 8 == 2));
  q.data()[2 * 8 + 3] = from_double<A>(0);
  k.data()[140 * 8] = from_double<A>(std::nan(""));
  for (const double value : wide(attention<TestType>(q, k, v, {}))) CHECK(std::isnan(value));
  k.data()[140 * 8] = from_double<A>(0);
  v.data()[3 * 8 + 1] = from_double<A>(HUGE_VAL);
  const auto by_value = wide(attention<TestType>(q, k, v, {}));
  for (std::size_t i = 0; i < by_value.size(); ++i) CHECK(std::isfinite(by_value[i]) == (i % 8 != 1));
}

TEST_CASE("attention names the shapes that do not fit", "[attention]") {
  const Tensor<f32> q(Shape{1, 4, 6}), k(Shape{1, 5, 6}), other(Shape{1, 5, 8}), bias(Shape{2, 4, 4});
  AttentionOptions options;
  CHECK_THROWS_WITH(attention<F32>(q, other, other, options), Catch::Contains("[1, 4, 6] and [1, 5, 8]"));
  CHECK_THROWS_WITH(attention<F32>(q, k, other, options), Catch::Contains("[1, 5, 6] and [1, 5, 8]"));
  CHECK_THROWS_AS(attention<F32>(q.view().rows_between(0, 4), k, k, options), ShapeError);
  Tensor<f32> narrow(Shape{1, 4, 5});
  CHECK_THROWS_WITH(attention_into<F32>(q, k, k, options, narrow.view()),
                    Catch::Contains("[1, 4, 6] and [1, 4, 5]"));
  options.heads = 4;
  CHECK_THROWS_WITH(attention<F32>(q, k, k, options), Catch::Contains("4 heads"));
  options.heads = 0;
  CHECK_THROWS_AS(attention<F32>(q, k, k, options), ShapeError);
  options.heads = 2;
  options.bias = bias;
  CHECK_THROWS_WITH(attention<F32>(q, k, k, options), Catch::Contains("[2, 4, 5] and [2, 4, 4]"));
}
