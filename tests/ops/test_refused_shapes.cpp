// What ops refuse: shapes that do not fit, each named in the error.
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/add_per_sample.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/cast.hpp>
#include <precast/ops/conv.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/group_norm_with.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/pointwise_gradient.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/resample.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/ops/timestep_embedding.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

template <class P>
LinearWeight<P> ones(std::int64_t out, std::int64_t in) {
  return LinearWeight<P>(out, in, [](std::int64_t, auto rows) {
    for (auto& value : rows.values()) value = from_double<typename LinearWeight<P>::Storage>(1);
  });
}

}  // namespace

TEST_CASE("attention names the shapes that do not fit", "[attention]") {
  const Tensor<f32> q(Shape{1, 4, 6}), k(Shape{1, 5, 6}), other(Shape{1, 5, 8}), bias(Shape{2, 4, 4});
  AttentionOptions options{.heads = 1};
  CHECK_THROWS_WITH(attention<F32>(q, other, other, options),
                    "attention: [1, 4, 6] and [1, 5, 8] are not queries and keys of one batch and width");
  const Tensor<f32> fewer(Shape{1, 5, 2});
  CHECK_THROWS_WITH(attention<F32>(q, fewer, fewer, {.heads = 2}),
                    "attention: [1, 4, 6] and [1, 5, 2] are not queries and keys of one batch and width: "
                    "where keys have fewer heads, name heads_kv in the options");
  const Tensor<f32> longer(Shape{1, 6, 6}), more(Shape{2, 5, 6});
  CHECK_THROWS_WITH(attention<F32>(q, k, longer, options), Catch::Contains("[1, 5, 6] and [1, 6, 6]"));
  CHECK_THROWS_WITH(attention<F32>(q, more, more, options),
                    "attention: [1, 4, 6] and [2, 5, 6] are not queries and keys of one batch and width");
  CHECK_THROWS_AS(attention<F32>(q.view().rows_between(0, 4), k, k, options), ShapeError);
  Tensor<f32> narrow(Shape{1, 4, 5});
  CHECK_THROWS_WITH(attention_into<F32>(q, k, k, options, narrow.view()),
                    Catch::Contains("[1, 4, 6] and [1, 4, 5]"));
  options.heads = 4;
  CHECK_THROWS_WITH(attention<F32>(q, k, k, options), Catch::Contains("4 heads"));
  // Left out, they are not one.
  CHECK_THROWS_WITH(
      attention<F32>(q, k, k, {}),
      "heads: 0 heads do not divide [1, 4, 6]: name in attention's options the heads of rows, or "
      "heads_kv of keys and values, that divide the last size");
  options.heads = 2;
  options.bias = bias;
  CHECK_THROWS_WITH(attention<F32>(q, k, k, options), Catch::Contains("[2, 4, 5] and [2, 4, 4]"));
}

TEST_CASE("attention names the heads that do not fit", "[attention]") {
  const Tensor<f32> q(Shape{1, 4, 6, 2}), k(Shape{1, 5, 4, 2}), fewer(Shape{1, 5, 3, 2});
  const auto queries = rows_of_heads(q.view()), keys = rows_of_heads(k.view()),
             values = rows_of_heads(fewer.view());
  CHECK_THROWS_WITH(attention<F32>(queries, keys, keys, {}),
                    Catch::Contains("6 heads of queries are not a multiple of 4 of keys"));
  CHECK_THROWS_WITH(attention<F32>(queries, keys, values, {}),
                    Catch::Contains("[1, 5, 4, 2] and [1, 5, 3, 2]"));
  Tensor<f32> out(Shape{1, 6, 4, 2});
  CHECK_THROWS_WITH(attention_into<F32>(queries, values, values, {}, rows_of_heads(out.view())),
                    Catch::Contains("[1, 4, 6, 2] and [1, 6, 4, 2]"));
  attention_into<F32>(queries, values, values, {}, heads_of_rows(out.view()));
  // A HeadsView counts its own heads; rows are divided by the options'.
  const Tensor<f32> rows(Shape{1, 5, 6});
  CHECK_THROWS_WITH(attention<F32>(queries, rows, rows, {.heads_kv = 1}),
                    Catch::Contains("[1, 4, 6, 2] and [1, 5, 6]"));
  CHECK(attention<F32>(queries, rows, rows, {.heads = 6, .heads_kv = 3}).shape() == Shape{1, 4, 12});
  CHECK_THROWS_WITH(attention<F32>(queries, rows, rows, {.heads_kv = 4}),
                    Catch::Contains("4 heads do not divide [1, 5, 6]"));
  CHECK_THROWS_WITH(attention<F32>(queries, values, values, {.heads = 3}),
                    "attention: [1, 4, 6, 2] has 6 heads, and the options name 3: leave them out, since a "
                    "HeadsView has its own");
  CHECK_THROWS_WITH(attention<F32>(queries, values, values, {.heads_kv = 6}),
                    Catch::Contains("[1, 5, 3, 2] has 3 heads"));
  CHECK(attention<F32>(queries, values, values, {.heads = 6}).shape() == Shape{1, 4, 12});
}

TEST_CASE("results whose rows overlap are refused, and inputs are not", "[attention][pointwise][cast]") {
  std::vector<f32> memory(100, 1);
  const auto rows_by = [&](std::int64_t stride) { return View<f32>(memory.data(), {3, 4}, stride); };
  const Tensor<f32> x(Shape{3, 4});
  for (const std::int64_t stride : {0, 1, 3, -3}) {
    CHECK_THROWS_WITH(add_into<F32>(x, x, rows_by(stride)),
                      Catch::StartsWith("add: the rows of the result [3, 4] lie " + std::to_string(stride) +
                                        " values apart and overlap"));
    CHECK_THROWS_AS((cast_into<f32>(x, rows_by(stride))), ShapeError);
    CHECK_THROWS_AS(linear_into<F32>(x, ones<F32>(4, 4), rows_by(stride)), ShapeError);
    CHECK_THROWS_AS(activate_gradient_into<F32>(x, x, ActivationFunction::silu, rows_by(stride)), ShapeError);
    CHECK_THROWS_AS(guide_into(x, x, 2, rows_by(stride)), ShapeError);
  }
  CHECK(add<F32>(rows_by(0), rows_by(1)).view().row(2)[3] == 2);
  CHECK_NOTHROW(add_into<F32>(x, x, rows_by(4)));
  CHECK_NOTHROW(add_into<F32>(x, x, View<f32>(memory.data() + 8, {3, 4}, -4)));
  CHECK_NOTHROW(
      add_into<F32>(Tensor<f32>(Shape{1, 4}), Tensor<f32>(Shape{1, 4}), View<f32>(memory.data(), {1, 4}, 0)));
  const Tensor<f32> q(Shape{2, 3, 2, 4});
  const auto heads = rows_of_heads(q.view());
  const auto into = [&](const HeadsStrides& strides) {
    attention_into<F32>(heads, heads, heads, {}, HeadsView<f32>(memory.data(), {2, 3, 2, 4}, strides));
  };
  for (const HeadsStrides& strides : {HeadsStrides{24, 8, 0}, {24, 8, 3}, {20, 8, 4}, {0, 8, 4}, {24, 4, 8}})
    CHECK_THROWS_WITH(into(strides), Catch::StartsWith("attention: the heads of the result [2, 3, 2, 4]"));
  for (const HeadsStrides& strides : {HeadsStrides{24, 8, 4}, {24, 4, 12}, {4, 8, 24}, {30, 9, 4}})
    CHECK_NOTHROW(into(strides));
}

TEST_CASE("results in the memory of an operand are refused, and beside it are not", "[attention][linear]") {
  std::vector<f32> memory(400, 1);
  const auto at = [&](std::int64_t first, const Shape& shape, std::int64_t stride) {
    return View<f32>(memory.data() + first, shape, stride);
  };
  const auto weight = ones<F32>(4, 4);
  const auto refused = Catch::Contains("overlaps the memory of the operand [6, 4]");
  const View<f32> x = at(40, {6, 4}, 10);  // the first columns of rows of ten
  CHECK_THROWS_WITH(linear_into<F32>(x, weight, x),
                    Catch::StartsWith("linear: the result [6, 4]") && refused);
  for (const std::int64_t first : {37, 43, 87, 93}) {
    CHECK_THROWS_WITH(linear_into<F32>(x, weight, at(first, {6, 4}, 10)), refused);
    CHECK_THROWS_WITH(linear_into<F32>(at(first + 50, {6, 4}, -10), weight, x), refused);
  }
  CHECK_THROWS_WITH(linear_into<F32>(x, weight, at(20, {6, 4}, 4)), refused);
  CHECK_THROWS_WITH(matmul_into<F32>(x, Tensor<f32>(Shape{4, 4}), at(93, {6, 4}, 4)), refused);
  CHECK_THROWS_WITH(matmul_into<F32>(Tensor<f32>(Shape{5, 6}), x, at(60, {5, 4}, 4)), refused);
  CHECK_THROWS_WITH(matmul_transposed_into<F32>(Tensor<f32>(Shape{5, 4}), x, at(60, {5, 6}, 6)), refused);
  for (const std::int64_t first : {36, 44, 100, 46})  // in the gaps, and behind
    CHECK_NOTHROW(linear_into<F32>(x, weight, at(first, {6, 4}, 10)));
  CHECK_NOTHROW(linear_into<F32>(x, weight, at(16, {6, 4}, 4)));
  const ConvWeight<F32> kernel(random_tensor<f32>({4, 4, 1, 1}, 1));
  const View<f32> image = at(0, {1, 2, 3, 4}, 4);
  CHECK_THROWS_AS(conv2d_into<F32>(image, kernel, {}, at(20, {1, 2, 3, 4}, 4)), ShapeError);
  CHECK_NOTHROW(conv2d_into<F32>(image, kernel, {}, at(24, {1, 2, 3, 4}, 4)));
  // Queries, keys, values and the result as columns of one array.
  const auto part = [&](std::int64_t number) { return at(4 * number, {1, 6, 4}, 16); };
  CHECK_NOTHROW(attention_into<F32>(part(0), part(1), part(2), {.heads = 2}, part(3)));
  for (const std::int64_t number : {0, 1, 2})
    CHECK_THROWS_WITH(attention_into<F32>(part(0), part(1), part(2), {.heads = 2}, part(number)),
                      Catch::StartsWith("attention: the result [1, 6, 4] overlaps the memory of"));
  const auto heads = [&](std::int64_t first) { return heads_of_rows(at(first, {1, 2, 6, 2}, 2)); };
  CHECK_NOTHROW(attention_into<F32>(heads(0), heads(24), heads(48), {}, heads(72)));
  CHECK_THROWS_AS(attention_into<F32>(heads(0), heads(24), heads(48), {}, heads(71)), ShapeError);
  // The first rows of longer heads [1, 2, 6, 2]; and heads that share one of keys and values.
  const auto first_rows = [&](std::int64_t first, std::int64_t stride) {
    return HeadsView<f32>(memory.data() + first, {1, 3, 2, 2}, {2 * stride, 2, stride});
  };
  CHECK_NOTHROW(
      attention_into<F32>(first_rows(0, 12), first_rows(6, 12), first_rows(24, 0), {}, first_rows(40, 12)));
  for (const std::int64_t first : {1, 17, 24, 29})
    CHECK_THROWS_WITH(attention_into<F32>(first_rows(0, 12), first_rows(6, 12), first_rows(24, 0), {},
                                          first_rows(first, 12)),
                      Catch::Contains("overlaps the memory of the operand"));
}

TEST_CASE("linear refuses shapes that do not fit", "[linear]") {
  using P = F32;
  const auto weight = ones<P>(5, 4);
  Tensor<f32> out({3, 5});
  REQUIRE_THROWS_AS(linear<P>(Tensor<f32>(Shape{3, 5}), weight), ShapeError);
  REQUIRE_THROWS_AS(linear_into<P>(Tensor<f32>(Shape{2, 4}), weight, out), ShapeError);
  REQUIRE_THROWS_AS(linear_into<P>(Tensor<f32>(Shape{3, 4}), ones<P>(6, 4), out), ShapeError);
  REQUIRE_THROWS_AS(ones<P>(0, 4), ShapeError);
  REQUIRE_THROWS_AS(ones<P>(4, 0), ShapeError);
  REQUIRE_THROWS_AS(ones<P>(-1, 4), ShapeError);
  REQUIRE_THROWS_AS(LinearWeight<P>(Tensor<f32>(Shape{5, 4}), std::vector<f32>(4)), ShapeError);
  REQUIRE_THROWS_WITH(LinearWeight<P>(Tensor<f32>(Shape{5, 2, 4})), Catch::Contains("[5, 2, 4]"));
  REQUIRE_THROWS_WITH(LinearWeight<P>(Tensor<f32>(Shape{4})), Catch::Contains("[4]"));
}

TEST_CASE("matmul refuses shapes that do not fit", "[matmul]") {
  REQUIRE_THROWS_AS(matmul<F32>(Tensor<f32>(Shape{2, 3}), Tensor<f32>(Shape{4, 3})), ShapeError);
  REQUIRE_THROWS_AS(matmul_transposed<F32>(Tensor<f32>(Shape{2, 3}), Tensor<f32>(Shape{3, 4})), ShapeError);
  // No columns fit as well as some.
  CHECK(matmul<F32>(Tensor<f32>(Shape{2, 3}), Tensor<f32>(Shape{3, 0})).shape() == Shape{2, 0});
  CHECK(matmul_transposed<F32>(Tensor<f32>(Shape{2, 3}), Tensor<f32>(Shape{0, 3})).shape() == Shape{2, 0});
  CHECK_THROWS_WITH(matmul<F32>(Tensor<f32>(Shape{2, 3}), Tensor<f32>(Shape{4, 0})),
                    Catch::Contains("[2, 3] and [4, 0]"));
  CHECK_THROWS_WITH(matmul<F32>(Tensor<f32>(Shape{2, 0}), Tensor<f32>(Shape{0, 3})),
                    Catch::Contains("with a K of 1 or more"));
  Tensor<f32> narrow(Shape{2, 3});
  CHECK_THROWS_WITH(matmul_into<F32>(Tensor<f32>(Shape{2, 3}), Tensor<f32>(Shape{3, 4}), narrow.view()),
                    Catch::StartsWith("matmul: [2, 4] and [2, 3]"));
}

TEST_CASE("conv2d refuses shapes that do not fit", "[conv]") {
  using P = F32;
  const ConvWeight<P> weight(random_tensor<f32>({5, 4, 3, 3}, 1));
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 8, 8, 5}), weight, {1, 1, 1, 1, 1}), ShapeError);
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{8, 8, 4}), weight, {1, 1, 1, 1, 1}), ShapeError);
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 2, 8, 4}), weight), ShapeError);
  REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 8, 8, 4}), weight, {.stride = 0}), ShapeError);
  REQUIRE_THROWS_WITH(conv2d<P>(Tensor<f32>(Shape{1, 8, 8, 4}), weight, {.stride = 1, .pad_top = -1}),
                      Catch::Contains("a stride of 1 or a padding of -1"));
  // Sums of these wrap around to sizes that seem to fit.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const ConvOptions& options :
       {ConvOptions{.pad_top = most, .pad_bottom = most}, ConvOptions{.pad_left = most, .pad_right = most}})
    REQUIRE_THROWS_AS(conv2d<P>(Tensor<f32>(Shape{1, 8, 8, 4}), weight, options), ShapeError);
  REQUIRE_THROWS_AS(ConvWeight<P>(Tensor<f32>(Shape{5, 4, 3})), ShapeError);
  REQUIRE_THROWS_AS(ConvWeight<P>(Tensor<f32>(Shape{5, 0, 3, 3})), ShapeError);
  REQUIRE_THROWS_AS(ConvWeight<P>(random_tensor<f32>({5, 4, 3, 3}, 1), std::vector<f32>(4)), ShapeError);
}

TEST_CASE("norms name the shapes that do not fit", "[norm]") {
  const Tensor<f32> x(Shape{2, 3, 4}), four(Shape{4}), three(Shape{3}), modulation(Shape{3, 4});
  CHECK_THROWS_WITH(layer_norm<F32>(x, three, four, {.eps = 1e-5}), Catch::Contains("[2, 3, 4] and [3]"));
  CHECK_THROWS_WITH(rms_norm<F32>(x, three, {.eps = 1e-5}), Catch::Contains("[2, 3, 4] and [3]"));
  CHECK_THROWS_WITH(rms_norm_heads<F32>(x, three, {.eps = 1e-5}), Catch::Contains("[2, 3, 4] and [3]"));
  CHECK_THROWS_WITH(layer_norm_modulate<F32>(x, modulation, modulation, {.eps = 1e-5}),
                    Catch::Contains("[2, 3, 4] and [3, 4]"));
  CHECK_THROWS_WITH(group_norm<F32>(x, four, four, {.groups = 2, .eps = 1e-5}), Catch::Contains("[2, 3, 4]"));
  const Tensor<f32> image(Shape{1, 2, 2, 4});
  CHECK_THROWS_WITH(group_norm<F32>(image, four, four, {.groups = 3, .eps = 1e-5}),
                    Catch::Contains("3 groups"));
  // Left out, they are not one.
  CHECK_THROWS_WITH(
      group_norm<F32>(image, four, four, {}),
      "group_norm: 0 groups do not divide the channels of [1, 2, 2, 4]: name in its options groups that do");
  CHECK_THROWS_WITH(group_moments(image, {}), Catch::StartsWith("group_moments: 0 groups"));
  CHECK_THROWS_WITH(group_norm_with<F32>(image, group_moments(image, {.groups = 1}), four, four, {}),
                    Catch::StartsWith("group_norm_with: 0 groups"));
}

TEST_CASE("pointwise ops name the shapes that do not fit", "[pointwise]") {
  const Tensor<f32> x(Shape{3, 4, 2500}), row(Shape{4, 2500}), residual(Shape{2, 3, 210}),
      gate(Shape{2, 210});
  CHECK_THROWS_WITH(add<F32>(x, Tensor<f32>(Shape{3, 4})), Catch::Contains("[3, 4, 2500] and [3, 4]"));
  CHECK_THROWS_WITH(add<F32>(row, x), Catch::Contains("[4, 2500] and [3, 4, 2500]"));
  CHECK_THROWS_AS(add<F32>(x, Tensor<f32>(Shape{})), ShapeError);
  CHECK_THROWS_WITH(gated_add<F32>(residual, residual, gate.view().rows_between(0, 1)),
                    Catch::Contains("[2, 3, 210] and [1, 210]"));
  CHECK_THROWS_AS(gated_add<F32>(residual.view().rows_between(0, 3), residual, gate), ShapeError);
  const Tensor<f32> picture(Shape{2, 3, 4, 5});
  for (const Shape& shape : {Shape{2, 4}, Shape{3, 5}, Shape{5}, Shape{2, 1, 5}})
    CHECK_THROWS_AS(add_per_sample<F32>(picture, Tensor<f32>(shape)), ShapeError);
  Tensor<f32> smaller(Shape{2, 3, 3, 5});
  CHECK_THROWS_AS(add_per_sample_into<F32>(picture, Tensor<f32>(Shape{2, 5}), smaller.view()), ShapeError);
  Tensor<f32> target(Shape{6, 40});
  CHECK_THROWS_WITH(copy_into<F32>(Tensor<f32>(Shape{6, 21}), target.view()),
                    Catch::Contains("[6, 21] and [6, 40]"));
  CHECK_THROWS_AS(upsample_nearest<F32>(x, 0), ShapeError);
  CHECK_THROWS_AS(upsample_nearest<F32>(row, 2), ShapeError);
  // Products of these wrap around: to nothing, and to fewer pixels than are written.
  for (const std::int64_t factor : {std::int64_t{1} << 62, (std::int64_t{1} << 62) + 1})
    CHECK_THROWS_AS(upsample_nearest<F32>(Tensor<f32>(Shape{1, 4, 4, 1}), factor), ShapeError);
  for (const Shape& shape : {Shape{1, 4, 6, 3}, Shape{1, 6, 9, 3}, Shape{1, 6, 8, 2}, Shape{6, 8, 3}}) {
    Tensor<f32> out(shape);
    CHECK_THROWS_AS(upsample_nearest_into<F32>(Tensor<f32>(Shape{1, 3, 4, 3}), 2, out.view()), ShapeError);
  }
}

TEST_CASE("embedding names the id that the table does not have", "[pointwise]") {
  const Tensor<f32> table(Shape{11, 37});
  CHECK_THROWS_WITH(embedding<F32>(table, std::vector<std::int32_t>{1, 11}),
                    Catch::Contains("id 11 at place 1") && Catch::Contains("11 rows, which count from 0"));
  CHECK_THROWS_AS(embedding<F32>(table, std::vector<std::int32_t>{-1}), InputError);
}

TEST_CASE("reductions and losses name the shapes that do not fit", "[reduction][loss]") {
  const Tensor<f32> x(Shape{2, 3, 4}), y(Shape{2, 4, 3});
  Tensor<f32> out(Shape{2, 4});
  CHECK_THROWS_WITH(sum_into<F32>(x, Over::last_axis, out.view()), Catch::Contains("sum: [2, 3] and [2, 4]"));
  CHECK_THROWS_WITH(mean_into<F32>(x, Over::all, out.view()), Catch::Contains("mean: [] and [2, 4]"));
  CHECK_THROWS_WITH(mean_squared_error<F32>(x, y),
                    Catch::Contains("mean_squared_error: [2, 3, 4] and [2, 4, 3]"));
  CHECK_THROWS_AS(mean_squared_error_into<F32>(x, x, out.view()), ShapeError);
  const std::vector<std::int64_t> two{0, 1};
  CHECK_THROWS_WITH(cross_entropy<F32>(x, two),
                    Catch::Contains("[2, 3, 4] is not [rows, classes] with 2 rows"));
  CHECK_THROWS_AS(cross_entropy<F32>(Tensor<f32>(Shape{3, 4}), two), ShapeError);
  CHECK_THROWS_AS(cross_entropy_into<F32>(Tensor<f32>(Shape{2, 4}), two, {}, out.view()), ShapeError);
}

TEST_CASE("cross_entropy names the target that is no class", "[loss]") {
  const auto logits = filled<f32>({2, 4}, 0);
  const auto of = [&](std::int64_t target, std::int64_t ignored) {
    return cross_entropy<F32>(logits, std::vector<std::int64_t>{0, target}, {.ignore_index = ignored});
  };
  CHECK_THROWS_WITH(of(4, -100), Catch::Contains("target 4 of row 1 is not one of 4 classes"));
  CHECK_THROWS_AS(of(-1, -100), InputError);
  CHECK_THROWS_AS(of(std::int64_t{1} << 32, -100), InputError);
  CHECK_NOTHROW(of(-1, -1));
}

TEST_CASE("position embeddings refuse sizes that do not fit", "[position]") {
  const std::vector<f32> ids{0, 0, 0, 0, 3, 61, 1, 1024, 7.5f};
  CHECK_THROWS_AS(rotary_table(std::vector<std::int64_t>{3}, 10000, ids), ShapeError);
  CHECK_THROWS_AS(rotary_table(std::vector<std::int64_t>{4, 4}, 10000, ids), ShapeError);
  CHECK_THROWS_AS(rotary_table(std::vector<std::int64_t>{}, 10000, ids), ShapeError);
  const RotaryTable table{Tensor<f32>(Shape{5, 12}), Tensor<f32>(Shape{5, 12})};
  const Tensor<f32> x(Shape{2, 5, 34});  // no whole number of heads
  CHECK_THROWS_WITH(rotary<F32>(x, table), Catch::StartsWith("rotary: [2, 5, 34] and [5, 12]"));
  CHECK_THROWS_WITH(
      rotary<F32>(Tensor<f32>(Shape{2, 4, 24}), table),
      Catch::EndsWith("make the table of the S tokens that are rotated, and as wide as a head"));
  CHECK_THROWS_AS(timestep_embedding<F32>(x, 1), ShapeError);
  CHECK_THROWS_WITH(timestep_embedding<F32>(x, -3), Catch::StartsWith("timestep_embedding: -3 values"));
  CHECK_THROWS_AS(timestep_embedding<F32>(x, 4, {.cosines_first = true, .frequency_shift = 2}), ShapeError);
  CHECK_THROWS_AS(timestep_embedding<F32>(x, 4, {.cosines_first = true, .frequency_shift = -1}), ShapeError);
}
