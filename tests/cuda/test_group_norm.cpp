// The kernels of group norm against float64: sums of 163,840 values, a mean of 1000, groups that fill no run.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/proof.hpp>
#include <support/arrays.hpp>
#include <support/norm_reference.hpp>

#include <precast/cuda/norm/group_norm.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using Bf16 = Policy<Storage<bf16>>;
using F16 = Policy<Storage<f16>>;

constexpr f32 eps = 1e-6f;

struct Case {
  std::int64_t batch, height, width, channels, groups;
  double scale, mean;
};

template <class P>
std::string wrong(const Case& c, Activate activation) {
  using A = typename P::activation;
  const auto x = random_tensor<A>(Shape{c.batch, c.height, c.width, c.channels}, 11, c.scale, c.mean);
  const auto weight = random_tensor<f32>(Shape{c.channels}, 12),
             bias = random_tensor<f32>(Shape{c.channels}, 13);
  Tensor<A> out(x.shape());
  cuda::group_norm<precisions<P, Norm>, A>(x, c.groups, weight, bias, eps, activation, out);
  ExpectedNorm expected =
      expected_group_norm(wide(x), c.batch, c.channels, c.groups, wide(weight), wide(bias), double{eps});
  if (activation == Activate::silu)  // its slope is at most 1.1; it is within 3 ulp itself
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      expected.bounds[i] = 1.1 * expected.bounds[i] + 8 * unit<f32> * std::abs(expected.values[i]);
      expected.values[i] /= 1 + std::exp(-expected.values[i]);
    }
  return outside(out, expected.values, expected.bound());
}

}  // namespace

TEMPLATE_TEST_CASE("the group_norm kernels follow their definition", "[norm]", F32, Bf16, F16) {
  for (const Case& c :
       {Case{2, 3, 5, 6, 3, 1, 0}, Case{1, 1, 1, 4, 2, 2, 1}, Case{1, 40, 8, 128, 32, 1, 1000},
        Case{2, 9, 7, 33, 1, 0.01, -4}, Case{1, 130, 1, 1, 1, 5, 0}, Case{3, 17, 3, 48, 3, 1, 2}}) {
    INFO(c.batch << " of " << c.height << " x " << c.width << " x " << c.channels << " in " << c.groups);
    CHECK(wrong<TestType>(c, Activate::none) == "");
    CHECK(wrong<TestType>(c, Activate::silu) == "");
  }
}

TEST_CASE("group_norm of 163,840 values to a group", "[norm]") {
  CHECK(wrong<F32>({1, 256, 320, 4, 2, 1, 3}, Activate::none) == "");
  CHECK(wrong<Bf16>({1, 64, 160, 32, 2, 1, 0.1}, Activate::silu) == "");
}

TEST_CASE("a patch unlike the rest of the picture costs the group_norm kernels no accuracy", "[norm]") {
  Tensor<f32> x = random_tensor<f32>(Shape{1, 128, 64, 4}, 20, 1e-3, 500);
  for (const std::int64_t outliers : {1, 2048}) {
    for (std::int64_t i = 0; i < outliers; ++i) x.data()[i] = 0;
    const Tensor<f32> ones(Shape{4}, std::vector<f32>(4, 1.0f)), zeros(Shape{4}, std::vector<f32>(4, 0.0f));
    Tensor<f32> out(x.shape());
    cuda::group_norm<precisions<F32, Norm>, f32>(x, 1, ones, zeros, eps, Activate::none, out);
    const auto expected = expected_group_norm(wide(x), 1, 4, 1, wide(ones), wide(zeros), double{eps});
    CHECK(outside(out, expected.values, expected.bound()) == "");
  }
}

TEST_CASE("group_norm of constants is its shift, of infinities NaN in their group, of nothing nothing",
          "[norm]") {
  using Types = precisions<F32, Norm>;
  const Tensor<f32> ones(Shape{6}, std::vector<f32>(6, 1.0f)), shift(Shape{6}, std::vector<f32>(6, 0.25f));
  Tensor<f32> x(Shape{2, 5, 5, 6}), out(x.shape());
  std::fill(x.values().begin(), x.values().end(), 1234.567f);
  cuda::group_norm<Types, f32>(x, 3, ones, shift, eps, Activate::none, out);
  for (const f32 value : out.values()) CHECK(value == Approx(0.25).margin(norm_roundings * unit<f32>));
  x = random_tensor<f32>(x.shape(), 3);
  x.data()[150 + 8] = std::numeric_limits<f32>::infinity();  // picture 1, group 1
  cuda::group_norm<Types, f32>(x, 3, ones, shift, eps, Activate::none, out);
  for (std::size_t i = 0; i < 300; ++i) CHECK(std::isnan(out.values()[i]) == (i >= 150 && i % 6 / 2 == 1));
  for (const Shape& shape : {Shape{0, 2, 2, 6}, Shape{1, 0, 2, 6}}) {
    Tensor<f32> none(shape), result(shape);
    cuda::group_norm<Types, f32>(none, 3, ones, shift, eps, Activate::none, result);
  }
}
