// Programs name a Context on both backends: on the host there is nothing to choose in it.
#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/policies.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/matmul.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("host: ops take a context and give the same bits", "[context]") {
  const Context context = current_context();
  const auto a = random_tensor<f32>({1, 5, 16}, 1), b = random_tensor<f32>({16, 8}, 2);
  CHECK(same_bits(attention<F32>(context, a, a, a, {.heads = 2}), attention<F32>(a, a, a, {.heads = 2})));
  CHECK(same_bits(attention<F32>({}, a, a, a, {.heads = 2}), attention<F32>(a, a, a, {.heads = 2})));
  CHECK(same_bits(matmul<F32>(context, a, b), matmul<F32>(a, b)));
}
