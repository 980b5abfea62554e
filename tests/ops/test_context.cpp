// Programs name a Context on both backends: on the host there is nothing to choose in it.
#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/every_op.hpp>
#include <support/policies.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/matmul.hpp>

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("host: every op takes a context, and writes into a view, and gives the same bits",
                   "[context]", F32, Bf16) {
  for_every_op<TestType>([](std::string_view name, const auto& op, const auto& into) {
    INFO(name);
    const auto expected = op();
    CHECK(same_bits(op(current_context()), expected));
    auto out = expected.clone();
    for (auto& value : out.values()) value = {};
    into(out.view());
    CHECK(same_bits(out, expected));
    for (auto& value : out.values()) value = {};
    into(out.view(), current_context());
    CHECK(same_bits(out, expected));
    Tensor<typename std::remove_cvref_t<decltype(out)>::value_type> other(Shape{1, 1});
    CHECK_THROWS_AS(into(other.view()), ShapeError);
  });
}

TEST_CASE("host: ops take a context and give the same bits", "[context]") {
  const Context context = current_context();
  const auto a = random_tensor<f32>({1, 5, 16}, 1), b = random_tensor<f32>({16, 8}, 2);
  CHECK(same_bits(attention<F32>(context, a, a, a, {.heads = 2}), attention<F32>(a, a, a, {.heads = 2})));
  CHECK(same_bits(attention<F32>({}, a, a, a, {.heads = 2}), attention<F32>(a, a, a, {.heads = 2})));
  CHECK(same_bits(matmul<F32>(context, a, b), matmul<F32>(a, b)));
}
