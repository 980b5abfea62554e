// Weights in rows of codes under scales on this translation unit's backend against float64: multiplied by few
// rows and by many, of any number of columns, and looked up.
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <op_cases/run.hpp>
#include <support/lookups.hpp>
#include <support/products.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/quant/scaled_rows.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

#if defined(PRECAST_FEW_POLICIES)
using RowPolicies = std::tuple<Policy<Storage<fp8_e4m3_row>>>;
#else
using RowPolicies = std::tuple<Policy<Storage<fp8_e4m3_row>>, Policy<Storage<fp8_e5m2_tensor>>,
                               Policy<Storage<int8_row>, Compute<f32>>>;
#endif

/// Random values whose rows are up to 64 times apart, encoded.
template <class Format>
BlockMatrix<Format, HostMemory> random_rows(const Shape& shape, std::uint32_t seed) {
  auto values = random_tensor<f32>(shape, seed);
  for (std::int64_t r = 0; r < shape[0]; ++r)
    for (f32& value : values.view().row(r)) value *= static_cast<f32>(1 << (r * 5 % 7)) / 64;
  BlockMatrix<Format, HostMemory> matrix(shape);
  quant::encode_rows<Format>(
      values.values(), static_cast<std::size_t>(shape[1]),
      std::as_writable_bytes(std::span(matrix.data(), static_cast<std::size_t>(matrix.bytes()))));
  return matrix;
}

/// Its values by the layout: a scale in the order of bytes of this machine's f32, and codes.
template <class Format>
HostTensor<f32> values_of(const BlockMatrix<Format, HostMemory>& matrix) {
  HostTensor<f32> values(matrix.shape());
  for (std::int64_t r = 0; r < matrix.rows(); ++r) {
    const auto* const row =
        reinterpret_cast<const unsigned char*>(matrix.data()) + r * (8 + matrix.columns());
    f32 scale;
    std::memcpy(&scale, row, sizeof scale);
    for (std::int64_t c = 0; c < matrix.columns(); ++c) {
      scaled_code_of<Format> code;
      std::memcpy(static_cast<void*>(&code), row + 8 + c, 1);
      double number;
      if constexpr (std::is_same_v<decltype(code), std::int8_t>)
        number = code;
      else
        number = to_double(code);
      values.view().row(r)[static_cast<std::size_t>(c)] =
          static_cast<f32>(number * static_cast<double>(scale));
    }
  }
  return values;
}

/// The same matrix with one bit of its first scale's exponent changed: what tests must notice.
template <class Format>
BlockMatrix<Format, HostMemory> with_another_scale(const BlockMatrix<Format, HostMemory>& matrix) {
  BlockMatrix<Format, HostMemory> wrong(matrix.view());
  reinterpret_cast<unsigned char*>(wrong.data())[2] ^= 0x80;
  return wrong;
}

struct ScaledRowCase {
  std::int64_t rows, columns, features;
};
constexpr ScaledRowCase scaled_row_cases[] = {{1, 1, 1},     {1, 600, 9},   {1, 1031, 130}, {2, 64, 65},
                                              {4, 45, 7},    {7, 31, 16},   {9, 64, 33},    {20, 160, 65},
                                              {33, 100, 64}, {70, 33, 130}, {300, 96, 40},  {300, 700, 200}};

}  // namespace

TEMPLATE_LIST_TEST_CASE("linear multiplies with rows under scales", "[linear][blocks]", RowPolicies) {
  using Types = precisions<TestType, Matmul>;
  using Format = typename Types::storage;
  static_assert(std::is_same_v<typename Types::vector_storage, f32>);
  std::uint32_t seed = 1;
  for (const ScaledRowCase& c : scaled_row_cases) {
    if (c.rows * c.columns * c.features > most_multiplications) continue;
    CAPTURE(c.rows, c.columns, c.features);
    const auto x = random_tensor<typename Types::result>({c.rows, c.columns}, ++seed);
    const auto stored = random_rows<Format>({c.features, c.columns}, ++seed);
    const auto bias = random_tensor<f32>({c.features}, ++seed);
    const LinearWeight<TestType> weight(stored.view(), bias.values());
    CHECK(weight.weight().bytes() == c.features * (8 + c.columns));
    const auto expected = expected_products<Types>(x, values_of(stored), bias);
    const auto run = [&] { return linear<TestType>(sent(x), weight); };
    CHECK(expected.outside(run()) == "");
    check_repeats(run);
    // Of one product beside a bias a result's rounding may hide it.
    const LinearWeight<TestType> wrong(with_another_scale(stored).view(), bias.values());
    if (c.features * c.columns > 32) CHECK(expected.outside(linear<TestType>(sent(x), wrong)) != "");
  }
}

TEMPLATE_LIST_TEST_CASE("embedding decodes rows under scales", "[pointwise][blocks]", RowPolicies) {
  using Format = typename precisions<TestType, Matmul>::storage;
  using A = typename TestType::activation;
  for (const std::int64_t columns : {1, 32, 70, 5000}) {
    CAPTURE(columns);
    const auto table = random_rows<Format>({11, columns}, 1);
    const auto values = values_of(table);
    const std::vector<std::int32_t> ids{10, 0, 7, 7};
    const auto wrong_in = [&](const auto& matrix) {
      const StoredMatrix<Format> there(HostStoredView<const Format>(matrix.view()));
      const auto result = to_host(embedding<TestType>(there, ids));
      return wrong_lookups<A>(result, values, ids);
    };
    CHECK(wrong_in(table) == 0);
    CHECK(wrong_in(with_another_scale(table)) > 0);
  }
}
