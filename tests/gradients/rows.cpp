// The op table's rows of training, each of which follows from the policy alone.
#include <type_traits>

#include <catch2/catch.hpp>
#include <support/policies.hpp>

#include <precast/policy/gradient_table.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

template <class P, class Gradient, class OfParameters, class Master>
constexpr bool trains_in = std::is_same_v<typename training<P>::gradient, Gradient>&&
    std::is_same_v<typename training<P>::parameter_gradient, OfParameters>&&
        std::is_same_v<typename training<P>::master, Master>;
template <class P, class Product, class OfParameters>
constexpr bool linear_rounds_to = std::is_same_v<typename training<P>::product, Product>&&
    std::is_same_v<typename training<P>::parameter_product, OfParameters>;

template <class P, class Op>
using operand_of_gradient = typename gradient_precisions<P, Op>::operand;

using AmpF16 = Policy<Storage<f32>, Compute<f16>>;
using NaiveF16Rows =
    Policy<Storage<f16>, Downcast<Matmul, Conv, Attention, Norm, Softmax, Reduction, Loss, Pointwise>>;
using E4m3OfF32Rows = Policy<Storage<f32>, Compute<fp8_e4m3>>;
using E5m2OfF32 = Policy<Storage<f32>, Compute<fp8_e5m2>>;

}  // namespace

TEST_CASE("gradients are stored as activations, parameters' in f32 and in naive f16 as they are",
          "[policy]") {
  CHECK(trains_in<F32, f32, f32, f32>);
  CHECK(trains_in<AmpF16, f16, f32, f32>);
  CHECK(trains_in<Bf16OfF32, bf16, f32, f32>);
  CHECK(trains_in<Bf16, bf16, f32, f32>);
  CHECK(trains_in<Bf16InF32, f32, f32, f32>);
  CHECK(trains_in<Tf32, f32, f32, f32>);
  CHECK(trains_in<E4m3OfF32Rows, bf16, f32, f32>);
  CHECK(trains_in<NaiveF16Rows, f16, f16, f16>);
}

TEST_CASE("linear layers round results where operands have less range, and parameters' gradients to operands",
          "[policy]") {
  CHECK(linear_rounds_to<F32, f32, f32>);
  CHECK(linear_rounds_to<AmpF16, f16, f16>);
  CHECK(linear_rounds_to<Policy<Storage<f32>, Compute<f16>, Activation<f32>>, f16, f16>);
  CHECK(linear_rounds_to<Policy<Storage<f32>, Compute<f16>, Activation<f32>, Upcast<Matmul>>, f32, f32>);
  CHECK(linear_rounds_to<Policy<Storage<f32>, Compute<bf16>, Activation<f32>>, f32, bf16>);
  CHECK(linear_rounds_to<Bf16, bf16, bf16>);
  CHECK(linear_rounds_to<Tf32, f32, f32>);
  CHECK(linear_rounds_to<E4m3OfF32Rows, bf16, bf16>);
  CHECK(linear_rounds_to<E4m3OfF32InF32, f32, bf16>);
  CHECK(linear_rounds_to<NaiveF16Rows, f16, f16>);
  CHECK(linear_rounds_to<Policy<Storage<f16>, Upcast<Matmul>, Downcast<Reduction>>, f16, f16>);
}

TEST_CASE("rows of gradients are their op's, but for operands whose range is too small", "[policy]") {
  AllOpClasses::for_each([]<class Op>(Op) {
    CHECK(std::is_same_v<operand_of_gradient<AmpF16, Op>, typename precisions<AmpF16, Op>::operand>);
    CHECK(std::is_same_v<typename gradient_precisions<NaiveF16Rows, Op>::accumulate,
                         typename precisions<NaiveF16Rows, Op>::accumulate>);
    CHECK(std::is_same_v<typename gradient_precisions<NaiveF16Rows, Op>::inside,
                         typename precisions<NaiveF16Rows, Op>::inside>);
    CHECK(std::is_same_v<typename gradient_precisions<AmpF16, Op>::result, f16>);
    CHECK(std::is_same_v<typename parameter_gradient_precisions<AmpF16, Op>::result, f32>);
    CHECK(std::is_same_v<typename parameter_gradient_precisions<NaiveF16Rows, Op>::result, f16>);
  });
  CHECK(std::is_same_v<operand_of_gradient<E4m3OfF32Rows, Matmul>, bf16>);
  CHECK(std::is_same_v<operand_of_gradient<E5m2OfF32, Matmul>, fp8_e5m2>);
  CHECK(std::is_same_v<operand_of_gradient<Tf32, Matmul>, tf32>);
  CHECK(std::is_same_v<operand_of_gradient<F32, Norm>, AsGiven>);
}
