// The kernels of products in the emulator: every tile, residuals, scales, and what rounds and turns over
// operands. Their results in all else are tested as the ops', in tests/op_cases.
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/product_runs.hpp>

#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/cuda/matmul/transpose.hpp>

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("cuda: every tile of every architecture gives the exact sums", "[matmul]", F32, Bf16, Tf32,
                   E4m3) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  using T = typename Types::result;
  const auto x = random_integers<T>({150, 210}, 1);
  const auto weight = random_integers<S>({140, 210}, 2), bias = random_integers<S>({140}, 3);
  const auto expected = expected_products<Types>(x, weight, bias);
  for (const gpu::Architecture architecture : gpu::all_architectures)
    gpu::visit_architecture(architecture, [&](auto known) {
      constexpr auto small = gpu::select_matmul_tile(known(), gpu::MatmulTileSize::small);
      constexpr auto large = gpu::select_matmul_tile(known(), gpu::MatmulTileSize::large);
      STATIC_REQUIRE(large.shared_bytes() <= gpu::limits_of(known()).shared_per_block);
      REQUIRE(expected.inexact(tiled_product<Types, small>(x, weight, bias)) == "");
      if (known() == gpu::Architecture::sm_80 || known() == gpu::Architecture::sm_90)
        REQUIRE(expected.inexact(tiled_product<Types, large>(x, weight, bias)) == "");
    });
}

TEMPLATE_TEST_CASE("cuda: a residual is added before the one rounding, in place too", "[matmul]", F32, Bf16) {
  using Types = precisions<TestType, Matmul>;
  using T = typename TestType::storage;
  for (const std::int64_t rows : {3, 20})
    for (const std::int64_t features : {13, 40}) {
      const auto x = random_integers<T>({rows, 70}, 1), weight = random_integers<T>({features, 70}, 2);
      auto out = random_integers<T>({rows, features}, 3);
      const auto residual = wide(out);
      const auto sums = expected_products<Types>(x, weight, HostTensor<T>()).values();
      gpu::matmul_transposed_with<Types, T>({.residual = on_device(out)}, on_device(x), on_device(weight), {},
                                            on_device(out));
      for (std::size_t i = 0; i < sums.size(); ++i)
        REQUIRE(to_double(out.data()[i]) == to_double(from_double<T>(sums[i] + residual[i])));
    }
}

TEMPLATE_TEST_CASE("cuda: fp8 operands are scaled", "[matmul]", Policy<Storage<fp8_e4m3>>,
                   (Policy<Storage<fp8_e5m2>, Activation<f32>>)) {
  using Types = precisions<TestType, Matmul>;
  using S = typename Types::storage;
  const HostTensor<f32> x_scale(Shape{1}, std::vector<f32>{0.5f}),
      weight_scale(Shape{1}, std::vector<f32>{8});
  for (const std::int64_t rows : {3, 20}) {
    const auto x = random_integers<S>({rows, 70}, 1), weight = random_integers<S>({13, 70}, 2);
    const auto bias = random_integers<f32>({13}, 3);
    const auto sums = expected_products<Types>(x, weight, HostTensor<S>()).values();
    HostTensor<typename Types::result> out({rows, 13});
    gpu::matmul_transposed_with<Types, S>({.scales = {x_scale.data(), weight_scale.data()}}, on_device(x),
                                          on_device(weight), {on_device(bias), ActivationFunction::none},
                                          on_device(out));
    for (std::size_t i = 0; i < sums.size(); ++i)
      REQUIRE(to_double(out.data()[i]) ==
              to_double(from_double<typename Types::result>(4 * sums[i] + bias.values()[i % 13])));
  }
}

TEST_CASE("cuda: tf32 operands are rounded as everywhere", "[matmul]") {
  std::mt19937 generator(1);
  for (int i = 0; i < 200000; ++i) {
    std::uint32_t word = generator();
    if (i % 4 == 0)
      word = (word & 0x80001fff) | (i % 8 ? 0x7f800000u : 0x7f7fe000u);  // NaN, and near the largest
    if (i % 4 == 1) word &= 0x807fffff;                                  // subnormal
    const f32 value = std::bit_cast<f32>(word);
    REQUIRE(gpu::tf32_word(value) == std::bit_cast<std::uint32_t>(convert<f32>(convert<tf32>(value))));
  }
}

TEST_CASE("cuda: whole matrices are rounded to operands", "[matmul]") {
  const auto from = random_tensor<f32>({7, 300}, 1);
  auto to = random_tensor<f32>({7, 300}, 2);
  const f32 before = to.view().row(3)[49];
  gpu::round_values<tf32>(on_device(from).columns_between(3, 201), on_device(to).columns_between(50, 201),
                          gpu::Stream{});
  for (std::int64_t r = 0; r < 7; ++r)
    for (std::int64_t c = 0; c < 201; ++c)
      REQUIRE(to.view().row(r)[static_cast<std::size_t>(50 + c)] ==
              convert<f32>(convert<tf32>(from.view().row(r)[static_cast<std::size_t>(3 + c)])));
  REQUIRE(to.view().row(3)[49] == before);
}

TEMPLATE_TEST_CASE("cuda: matrices are transposed", "[transpose]", f32, bf16, fp8_e4m3) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {33, 31}, {7, 100}, {64, 65}}) {
    const auto wide_from = random_integers<TestType>({rows, columns + 3}, 1);
    const auto from = wide_from.view().columns_between(2, columns);
    HostTensor<TestType> to({columns, rows});
    gpu::transpose<TestType>(on_device(from), on_device(to), gpu::current_stream());
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        REQUIRE(to_double(to.view().row(c)[static_cast<std::size_t>(r)]) ==
                to_double(from.row(r)[static_cast<std::size_t>(c)]));
  }
}
