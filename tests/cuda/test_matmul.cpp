// The device's x W^T + b against float64, in the emulator: every kind of policy, sizes around the edges of
// tiles and vectors, views, overflow, every tile, and what goes to the library.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/product_runs.hpp>

#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/transpose.hpp>
#include <precast/host/matmul.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

constexpr f32 inf = std::numeric_limits<f32>::infinity();

struct Sizes {
  std::int64_t rows, columns, features;
};

/// Few rows, all their tiles; one tile and several; one stage, a part of one and more than there are.
const std::vector<Sizes> sizes{{1, 1, 1},     {1, 600, 9},  {2, 257, 5},   {3, 64, 17},  {5, 130, 3},
                               {8, 17, 33},   {9, 1, 3},    {9, 64, 65},   {17, 8, 64},  {64, 200, 70},
                               {70, 330, 65}, {130, 40, 1}, {65, 72, 130}, {20, 576, 8}, {33, 31, 40}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("cuda: matmul is within its bound of float64", "[matmul]", ProductPolicies) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  std::uint32_t seed = 1;
  for (const auto& [rows, columns, features] : sizes)
    for (const double scale : {1.0, 30.0}) {
      if (scale != 1 && rows % 2) continue;
      CAPTURE(rows, columns, features, scale);
      const auto x = random_tensor<typename Types::result>({rows, columns}, ++seed, scale);
      const auto weight = random_tensor<S>({features, columns}, ++seed, 1 / std::sqrt(columns));
      const auto bias = random_tensor<S>({features}, ++seed);
      REQUIRE(expected_products<Types>(x, weight, bias).outside(product<Types>(x, weight, bias)) == "");
    }
}

TEMPLATE_LIST_TEST_CASE("cuda: matmul rounds a sum that is exact in f32 exactly once", "[matmul]",
                        ProductPolicies) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  if (!std::is_same_v<typename Types::accumulate, f32>) return;
  for (const auto& [rows, columns, features] :
       {Sizes{1, 333, 10}, {3, 530, 7}, {7, 64, 5}, {40, 333, 66}, {66, 700, 72}}) {
    CAPTURE(rows, columns, features);
    const auto x = random_integers<typename Types::result>({rows, columns}, 1);
    const auto weight = random_integers<S>({features, columns}, 2), bias = random_integers<S>({features}, 3);
    const auto expected = expected_products<Types>(x, weight, bias);
    REQUIRE(expected.inexact(product<Types>(x, weight, bias)) == "");
    REQUIRE(expected.inexact(product<Types>(random_integers<f32>({rows, columns}, 1), weight, bias)) == "");
  }
}

TEMPLATE_TEST_CASE("cuda: every tile of every architecture gives the exact sums", "[matmul]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, (Policy<Storage<f32>, Compute<tf32>>),
                   Policy<Storage<fp8_e4m3>>) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  using T = typename Types::result;
  const auto x = random_integers<T>({150, 210}, 1);
  const auto weight = random_integers<S>({140, 210}, 2), bias = random_integers<S>({140}, 3);
  const auto expected = expected_products<Types>(x, weight, bias);
  for (const cuda::Architecture architecture : cuda::all_architectures)
    cuda::visit_architecture(architecture, [&](auto known) {
      constexpr auto small = cuda::select_matmul_tile(known(), cuda::MatmulTileSize::small);
      constexpr auto large = cuda::select_matmul_tile(known(), cuda::MatmulTileSize::large);
      STATIC_REQUIRE(large.shared_bytes() <= cuda::limits_of(known()).shared_per_block);
      REQUIRE(expected.inexact(tiled_product<Types, small>(x, weight, bias)) == "");
      if (known() == cuda::Architecture::sm_80 || known() == cuda::Architecture::sm_90)
        REQUIRE(expected.inexact(tiled_product<Types, large>(x, weight, bias)) == "");
    });
}

TEMPLATE_TEST_CASE("cuda: a narrow Accumulate rounds every addition", "[matmul]",
                   (Policy<Storage<f16>, Accumulate<f16>>),
                   (Policy<Storage<bf16>, Accumulate<bf16>, Activation<f32>>),
                   (Policy<Storage<f32>, Compute<f16>, Accumulate<tf32>, Activation<f32>>),
                   (Policy<Storage<fp8_e5m2>, Accumulate<fp8_e5m2>, Activation<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  for (const double scale : {1e-4, 1.0, 100.0}) {
    const auto x = random_tensor<f32>({11, 200}, 1, scale);
    const auto weight = random_tensor<S>({30, 200}, 2), bias = random_tensor<S>({30}, 3);
    Tensor<typename Types::result> expected({11, 30});
    const auto wide_bias = in_f32(bias);
    host::matmul_transposed<Types, f32>(x, host::PackedWeight<S>(weight, 1),
                                        Epilogue{wide_bias.values(), Activate::silu}, expected);
    const auto got = wide(product<Types>(x, weight, bias, Activate::silu)), want = wide(expected);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      if (std::isnan(want[i]))
        REQUIRE(std::isnan(got[i]));
      else
        REQUIRE(std::abs(got[i] - want[i]) <= 4 * unit<typename Types::result> * std::abs(want[i]));
    }
  }
}

TEMPLATE_TEST_CASE("cuda: matmul applies activations before its one rounding", "[matmul]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>) {
  using Types = precisions<TestType, Matmul>;
  using T = typename TestType::storage;
  for (const std::int64_t rows : {2, 20})
    for (const Activate activate : {Activate::none, Activate::gelu_tanh, Activate::gelu_erf,
                                    Activate::quick_gelu, Activate::silu, Activate::relu})
      for (const double scale : {1.0, 20.0}) {
        CAPTURE(rows, to_string(activate), scale);
        const auto x = random_tensor<T>({rows, 60}, 5, scale), weight = random_tensor<T>({70, 60}, 6, 0.3);
        const auto bias = random_tensor<T>({70}, 7);
        REQUIRE(expected_products<Types>(x, weight, bias)
                    .outside(product<Types>(x, weight, bias, activate), activate) == "");
      }
}

TEST_CASE("cuda: matmul keeps f32's subnormals", "[matmul]") {
  using Types = precisions<Policy<Storage<f32>>, Matmul>;
  for (const std::int64_t rows : {1, 20}) {
    Tensor<f32> x({rows, 32}), weight({20, 32});
    for (f32& value : x.values()) value = 1e-20f;
    for (f32& value : weight.values()) value = 1e-21f;
    const auto result = product<Types>(x, weight);
    for (const f32 value : result.values()) REQUIRE(std::abs(value - 3.2e-40) < 3.2e-43);
  }
}

TEMPLATE_TEST_CASE("cuda: inf and NaN stay in their rows", "[matmul]", Policy<Storage<f32>>,
                   Policy<Storage<bf16>>, Policy<Storage<f16>>, (Policy<Storage<f32>, Compute<tf32>>),
                   (Policy<Storage<f16>, Accumulate<f16>>)) {
  using Types = precisions<TestType, Matmul>;
  using T = typename Types::storage;
  for (const std::int64_t rows : {4, 20}) {
    auto x = random_tensor<T>({rows, 50}, 1);
    auto weight = random_tensor<T>({70, 50}, 2);
    weight.data()[3 * 50 + 7] = T{};
    x.data()[1 * 50 + 7] = from_double<T>(inf);
    x.data()[2 * 50 + 9] = from_double<T>(std::nan(""));
    const auto result = wide(product<Types>(x, weight));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t f = 0; f < 70; ++f) {
        const double value = result[static_cast<std::size_t>(r * 70 + f)];
        const double factor = to_double(weight.data()[f * 50 + 7]);
        if (r == 2 || (r == 1 && factor == 0))
          REQUIRE(std::isnan(value));
        else if (r == 1)
          REQUIRE(value == (factor > 0 ? inf : -inf));
        else
          REQUIRE(std::isfinite(value));
      }
  }
}

TEST_CASE("cuda: a result above the range becomes inf, or the largest number where the policy saturates",
          "[matmul]") {
  for (const std::int64_t rows : {1, 20}) {
    Tensor<f16> x({rows, 64}), ones({70, 64});
    for (f16& value : x.values()) value = from_double<f16>(2000);
    for (f16& value : ones.values()) value = from_double<f16>(1);
    using Plain = precisions<Policy<Storage<f16>>, Matmul>;
    using Saturating = precisions<Policy<Storage<f16>, Overflow<Saturate>>, Matmul>;
    REQUIRE(wide(product<Plain>(x, ones))[0] == inf);
    REQUIRE(wide(product<Saturating>(x, ones))[0] == 65504);
    // An operand is rounded too: 1000 is above fp8_e4m3's 448, and becomes NaN or 448.
    using Fp8 = Policy<Storage<bf16>, Compute<fp8_e4m3>, Activation<f32>>;
    using SaturatingFp8 = Policy<Storage<bf16>, Compute<fp8_e4m3>, Activation<f32>, Overflow<Saturate>>;
    Tensor<f32> large({rows, 1});
    Tensor<bf16> one({3, 1});
    for (f32& value : large.values()) value = 1000;
    for (bf16& value : one.values()) value = from_double<bf16>(1);
    REQUIRE(std::isnan(wide(product<precisions<Fp8, Matmul>>(large, one))[2]));
    REQUIRE(wide(product<precisions<SaturatingFp8, Matmul>>(large, one))[2] == 448);
  }
}

TEMPLATE_TEST_CASE("cuda: matmul reads and writes slices of columns and leaves the rest alone", "[matmul]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>, Policy<Storage<f16>>) {
  using Types = precisions<TestType, Matmul>;
  using T = typename TestType::storage;
  for (const std::int64_t rows : {3, 40})
    for (const std::int64_t first : {11, 16}) {  // 16: slices whose rows begin on multiples of 16 bytes
      CAPTURE(rows, first);
      const auto wide_x = random_integers<T>({rows, 64}, 1);
      const auto x = wide_x.view().columns_between(first, 33);
      const auto weight = random_integers<T>({90, 33}, 2), bias = random_integers<T>({90}, 3);
      const auto wide_bias = in_f32(bias);
      Tensor<T> out({2, rows, 128});
      for (T& value : out.values()) value = from_double<T>(-1000);
      const auto target = out.view().rows_between(rows, rows).columns_between(first + 8, 90);
      cuda::matmul_transposed<Types, T>(x, weight, Epilogue{wide_bias.values(), Activate::none}, target,
                                        cuda::Stream{});
      REQUIRE(expected_products<Types>(x, weight, bias).inexact(target) == "");
      for (std::int64_t r = 0; r < 2 * rows; ++r)
        for (std::int64_t c = 0; c < 128; ++c)
          if (r < rows || c < first + 8 || c >= first + 98)
            REQUIRE(to_double(out.data()[r * 128 + c]) == -1000);
    }
}

TEMPLATE_TEST_CASE("cuda: a residual is added before the one rounding, in place too", "[matmul]",
                   Policy<Storage<f32>>, Policy<Storage<bf16>>) {
  using Types = precisions<TestType, Matmul>;
  using T = typename TestType::storage;
  for (const std::int64_t rows : {3, 20})
    for (const std::int64_t features : {13, 40}) {
      const auto x = random_integers<T>({rows, 70}, 1), weight = random_integers<T>({features, 70}, 2);
      auto out = random_integers<T>({rows, features}, 3);
      const auto residual = wide(out);
      const auto sums = expected_products<Types>(x, weight, Tensor<T>()).values();
      cuda::matmul_transposed_with<Types, T>({.residual = out.view()}, x, weight, {}, out);
      for (std::size_t i = 0; i < sums.size(); ++i)
        REQUIRE(to_double(out.data()[i]) == to_double(from_double<T>(sums[i] + residual[i])));
    }
}

TEMPLATE_TEST_CASE("cuda: fp8 operands are scaled", "[matmul]", Policy<Storage<fp8_e4m3>>,
                   (Policy<Storage<fp8_e5m2>, Activation<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  const Tensor<f32> x_scale(Shape{1}, std::vector<f32>{0.5f}), weight_scale(Shape{1}, std::vector<f32>{8});
  for (const std::int64_t rows : {3, 20}) {
    const auto x = random_integers<S>({rows, 70}, 1), weight = random_integers<S>({13, 70}, 2);
    const auto bias = random_integers<f32>({13}, 3);
    const auto sums = expected_products<Types>(x, weight, Tensor<S>()).values();
    Tensor<typename Types::result> out({rows, 13});
    cuda::matmul_transposed_with<Types, S>({.scales = {x_scale.data(), weight_scale.data()}}, x, weight,
                                           {bias.values(), Activate::none}, out);
    for (std::size_t i = 0; i < sums.size(); ++i)
      REQUIRE(to_double(out.data()[i]) ==
              to_double(from_double<typename Types::result>(4 * sums[i] + bias.values()[i % 13])));
  }
}

TEST_CASE("cuda: matmul takes no rows and no columns", "[matmul]") {
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  REQUIRE(product<Types>(Tensor<bf16>(Shape{0, 4}), Tensor<bf16>(Shape{5, 4})).elements() == 0);
}

TEST_CASE("cuda: tf32 operands are rounded as everywhere", "[matmul]") {
  std::mt19937 generator(1);
  for (int i = 0; i < 200000; ++i) {
    std::uint32_t word = generator();
    if (i % 4 == 0)
      word = (word & 0x80001fff) | (i % 8 ? 0x7f800000u : 0x7f7fe000u);  // NaN, and near the largest
    if (i % 4 == 1) word &= 0x807fffff;                                  // subnormal
    const f32 value = std::bit_cast<f32>(word);
    REQUIRE(cuda::tf32_word(value) == std::bit_cast<std::uint32_t>(convert<f32>(convert<tf32>(value))));
  }
}

TEST_CASE("cuda: whole matrices are rounded to operands", "[matmul]") {
  const auto from = random_tensor<f32>({7, 300}, 1);
  auto to = random_tensor<f32>({7, 300}, 2);
  const f32 before = to.view().row(3)[49];
  cuda::round_values<tf32>(from.view().columns_between(3, 201), to.view().columns_between(50, 201),
                           cuda::Stream{});
  for (std::int64_t r = 0; r < 7; ++r)
    for (std::int64_t c = 0; c < 201; ++c)
      REQUIRE(to.view().row(r)[static_cast<std::size_t>(50 + c)] ==
              convert<f32>(convert<tf32>(from.view().row(r)[static_cast<std::size_t>(3 + c)])));
  REQUIRE(to.view().row(3)[49] == before);
}

TEMPLATE_TEST_CASE("cuda: matrices are turned over", "[transpose]", f32, bf16, fp8_e4m3) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {33, 31}, {7, 100}, {64, 65}}) {
    const auto wide_from = random_integers<TestType>({rows, columns + 3}, 1);
    const auto from = wide_from.view().columns_between(2, columns);
    Tensor<TestType> to({columns, rows});
    cuda::transpose<TestType>(from, to);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        REQUIRE(to_double(to.view().row(c)[static_cast<std::size_t>(r)]) ==
                to_double(from.row(r)[static_cast<std::size_t>(c)]));
  }
}

TEST_CASE("cuda: a weight is uploaded in groups of rows, and multiplied where it lies", "[matmul]") {
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  const auto weight = random_integers<bf16>({100, 21}, 1), x = random_integers<bf16>({12, 21}, 2);
  cuda::PackedWeight<bf16> packed(100, 21);
  for (std::int64_t first = 0; first < 100; first += cuda::widest_panel)
    packed.pack(first, weight.view().rows_between(first, std::min(cuda::widest_panel, 100 - first)));
  Tensor<bf16> out({12, 100});
  cuda::matmul_transposed<Types, bf16>(x, packed, {}, out);
  REQUIRE(expected_products<Types>(x, weight, Tensor<bf16>()).inexact(out) == "");
  cuda::matmul_transposed<Types, bf16>(x, cuda::PackedWeight<bf16>(weight.view()), {}, out);
  REQUIRE(expected_products<Types>(x, weight, Tensor<bf16>()).inexact(out) == "");
}
