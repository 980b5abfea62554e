// In which dtype our kernels multiply operands: by what a format holds, not by its size.
#include <type_traits>

#include <catch2/catch.hpp>
#include <cuda/attention_runs.hpp>
#include <cuda/product_runs.hpp>

#include <precast/dtype/exact_operand.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// An 8-bit float whose exponents f16 does not have.
struct Wide8 {
  std::uint8_t bits = 0;
};
/// A bit less of mantissa than tf32 has: multiplied as tf32.
struct Coarse19 {
  std::uint32_t bits = 0;
};
/// More bits of mantissa than tf32 has.
struct Fine24 {
  std::uint32_t bits = 0;
};

}  // namespace

template <>
struct precast::dtype_traits<Wide8> : precast::detail::scalar_traits<Wide8> {
  static constexpr std::string_view name = "wide8";
  static constexpr FloatFormat format{7, 0, Specials::none};
};
template <>
struct precast::dtype_traits<Coarse19> : precast::detail::scalar_traits<Coarse19> {
  static constexpr std::string_view name = "coarse19";
  static constexpr FloatFormat format{8, 9};
};
template <>
struct precast::dtype_traits<Fine24> : precast::detail::scalar_traits<Fine24> {
  static constexpr std::string_view name = "fine24";
  static constexpr FloatFormat format{8, 15};
};

static_assert(std::is_same_v<gpu::MultipliedDtype<fp8_e4m3>, f16>);
static_assert(std::is_same_v<gpu::MultipliedDtype<fp8_e5m2>, f16>);
static_assert(std::is_same_v<gpu::MultipliedDtype<f16>, f16>);
static_assert(std::is_same_v<gpu::MultipliedDtype<bf16>, bf16>);
static_assert(std::is_same_v<gpu::MultipliedDtype<tf32>, tf32>);
static_assert(std::is_same_v<gpu::MultipliedDtype<f32>, f32>);
static_assert(std::is_same_v<gpu::MultipliedDtype<Wide8>, bf16>);
static_assert(std::is_same_v<gpu::MultipliedDtype<Coarse19>, tf32>);
static_assert(std::is_same_v<gpu::MultipliedDtype<Fine24>, f32>);

// What is multiplied is the dtype of 16 bits that holds both sides, where the policy's holds it.
static_assert(std::is_same_v<ExactOperand<f32, bf16, bf16>, bf16>);
static_assert(std::is_same_v<ExactOperand<f32, f16, f16>, f16>);
static_assert(std::is_same_v<ExactOperand<tf32, f16, f16>, f16>);
static_assert(std::is_same_v<ExactOperand<f32, bf16, fp8_e4m3>, bf16>);
static_assert(std::is_same_v<ExactOperand<f32, fp8_e5m2, f16>, f16>);
// Neither holds the other's.
static_assert(std::is_same_v<ExactOperand<f32, bf16, f16>, f32>);
static_assert(std::is_same_v<ExactOperand<f32, f32, bf16>, f32>);
static_assert(std::is_same_v<ExactOperand<tf32, f32, f32>, tf32>);
// The library's sums of fp8 are narrower than f32 (docs/kernels.md).
static_assert(std::is_same_v<ExactOperand<f32, fp8_e4m3, fp8_e4m3>, f32>);
// A policy that rounds to less is followed.
static_assert(std::is_same_v<ExactOperand<bf16, f16, f16>, bf16>);
static_assert(std::is_same_v<ExactOperand<fp8_e4m3, bf16, bf16>, fp8_e4m3>);

TEMPLATE_TEST_CASE("cuda: operands of formats of one's own keep their range and their bits", "[matmul]",
                   Wide8, Coarse19, Fine24) {
  using P = Policy<Storage<f32>, Compute<TestType>, Activation<f32>>;
  using Types = precisions<P, Matmul>;
  for (const std::int64_t rows : {2, 40}) {
    // Factors far above f16's range and below its smallest number, whose products are near 1.
    const auto x = random_tensor<f32>({rows, 65}, 1, 1e12), weight = random_tensor<f32>({33, 65}, 2, 1e-12);
    const auto result = product<Types>(x, weight);
    CHECK(expected_products<Types>(x, weight, HostTensor<f32>()).outside(result) == "");
  }
}

TEMPLATE_TEST_CASE("cuda: attention of operands of one's own", "[attention]", Wide8, Coarse19, Fine24) {
  using Scores = Policy<Storage<f32>, Compute<TestType>, Activation<f32>>;
  using InFlash = Policy<Storage<f32>, Compute<TestType>, Activation<f32>, Flash>;
  for (const std::int64_t width : {24, 64}) {
    CHECK(wrong_in<Scores>({1, 2, 20, 70, width}) == "");
    CHECK(wrong_in<InFlash>({1, 2, 20, 70, width}) == "");
  }
}
