// Programs name a Context on both backends: on the host there is nothing to choose in it.
#include <atomic>
#include <thread>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/every_op.hpp>
#include <support/policies.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/matmul.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Whether a call with such arguments compiles, as the op's constraints say: an error inside it would be one
/// here.
template <class... Arguments, class Op>
constexpr bool takes(Op) {
  return std::is_invocable_v<Op, Arguments...>;
}

}  // namespace

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
    for (auto& value : out.values()) value = {};
    into(out);  // a tensor is a view of itself
    CHECK(same_bits(out, expected));
    for (auto& value : out.values()) value = {};
    into(out, current_context());
    CHECK(same_bits(out, expected));
    Tensor<typename std::remove_cvref_t<decltype(out)>::value_type> other(Shape{1, 1});
    CHECK_THROWS_AS(into(other.view()), ShapeError);
  });
}

TEST_CASE("host: ops take a context and give the same bits", "[context]") {
  const Context context = current_context();
  const auto a = random_tensor<f32>({1, 5, 16}, 1), b = random_tensor<f32>({16, 8}, 2);
  CHECK(same_bits(attention<F32>(a, a, a, {.heads = 2}, context), attention<F32>(a, a, a, {.heads = 2})));
  CHECK(same_bits(attention<F32>(a, a, a, {.heads = 2}, {}), attention<F32>(a, a, a, {.heads = 2})));
  CHECK(same_bits(matmul<F32>(a, b, context), matmul<F32>(a, b)));
}

TEST_CASE("host: whether an op takes an argument is asked without an error inside it", "[context]") {
  struct NoArray {};
  using Array = const Tensor<f32>&;
  using Result = Tensor<f32>&;
  const auto into = [](auto&&... given) requires requires { softmax_into<F32>(given...); }
  {};
  STATIC_REQUIRE(takes<Array, Result>(into));
  STATIC_REQUIRE(takes<Array, View<f32>, Context>(into));
  STATIC_REQUIRE_FALSE(takes<Context, Array, Result>(into));  // a context is the last argument
  STATIC_REQUIRE_FALSE(takes<Context, NoArray, int>(into));
  STATIC_REQUIRE_FALSE(takes<Array, int>(into));
  STATIC_REQUIRE_FALSE(takes<Array, Result, int>(into));
  const auto to_new = [](auto&&... given) requires requires { add<F32>(given...); }
  {};
  STATIC_REQUIRE(takes<Array, View<const f32>>(to_new));
  STATIC_REQUIRE(takes<Array, Array, Context>(to_new));
  STATIC_REQUIRE_FALSE(takes<Context, Array, Array>(to_new));
  STATIC_REQUIRE_FALSE(takes<Array, NoArray>(to_new));
}

TEST_CASE("host: ops of several threads at once give the same bits, and each its own errors", "[context]") {
  const auto x = random_tensor<f32>({1, 40, 64}, 1);
  const LinearWeight<F32> weight(random_tensor<f32>({64, 64}, 2));
  const auto products = linear<F32>(x, weight), attended = attention<F32>(x, x, x, {.heads = 4});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        if (!same_bits(linear<F32>(x, weight), products)) ++wrong;
        if (!same_bits(attention<F32>(x, x, x, {.heads = 4}), attended)) ++wrong;
        try {
          (void)attention<F32>(x, x, x, {.heads = 5});
          ++wrong;
        } catch (const ShapeError&) {
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
