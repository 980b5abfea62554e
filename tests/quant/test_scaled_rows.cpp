// Rows of codes under scales against ml_dtypes, numpy and PyTorch, to the last bit; and their decoders
// against each other, for every code and scales that are no numbers.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>

#include <precast/dtype/decode_run.hpp>
#include <precast/host/blocks/block_decoding.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/quant/scaled_rows.hpp>

using namespace precast;

namespace {

using RowFormats = std::tuple<fp8_e4m3_row, fp8_e5m2_row, int8_row, fp8_e4m3_tensor, fp8_e5m2_tensor>;

const testing::Golden& rows_golden() {
  static const testing::Golden file("scaled_rows");
  return file;
}

/// The rows that the golden's scales and codes are.
template <class Format>
std::vector<std::byte> rows_of_golden(std::int64_t columns) {
  const std::string name(dtype_traits<Format>::name);
  const HostTensor<f32> scales = rows_golden().tensor(name + ".scales");
  const std::vector<std::uint8_t> codes = rows_golden().bytes(name + ".codes");
  std::vector<std::byte> rows;
  for (std::int64_t r = 0; r < scales.elements(); ++r) {
    const auto scale = std::bit_cast<std::array<std::byte, 4>>(scales.data()[r]);
    rows.insert(rows.end(), scale.begin(), scale.end());
    const auto length = std::bit_cast<std::array<std::byte, 4>>(static_cast<std::uint32_t>(columns));
    rows.insert(rows.end(), length.begin(), length.end());
    for (std::int64_t c = 0; c < columns; ++c)
      rows.push_back(static_cast<std::byte>(codes[static_cast<std::size_t>(r * columns + c)]));
  }
  return rows;
}

template <class T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows under scales: codes and scales are ml_dtypes' and numpy's, bit for bit",
                        "[quant]", RowFormats) {
  const HostTensor<f32> input = rows_golden().tensor("input");
  const std::int64_t columns = input.shape()[1];
  std::vector<std::byte> rows(static_cast<std::size_t>(input.shape()[0] * (8 + columns)));
  quant::encode_rows<TestType>(input.values(), static_cast<std::size_t>(columns), rows);
  CHECK(rows == rows_of_golden<TestType>(columns));
  // Other values have other codes.
  HostTensor<f32> other = input.clone();
  for (f32& value : other.values()) value *= 1.1f;
  quant::encode_rows<TestType>(other.values(), static_cast<std::size_t>(columns), rows);
  CHECK(rows != rows_of_golden<TestType>(columns));
}

TEMPLATE_LIST_TEST_CASE("rows under scales: values are PyTorch's, bit for bit, in any run of columns",
                        "[quant]", RowFormats) {
  const HostTensor<f32> expected =
      rows_golden().tensor(std::string(dtype_traits<TestType>::name) + ".values");
  const std::int64_t columns = expected.shape()[1], row_bytes = 8 + columns;
  const std::vector<std::byte> rows = rows_of_golden<TestType>(columns);
  const auto to_f32 = host::rows_decoder<f32>(dtype_traits<TestType>::name);
  const auto to_bf16 = host::rows_decoder<bf16>(dtype_traits<TestType>::name);
  REQUIRE((to_f32 && to_bf16));
  std::vector<std::string> wrong;
  for (const auto& [first, count] :
       {std::pair<std::int64_t, std::int64_t>{0, columns}, {1, 40}, {17, 16}, {80, 3}}) {
    HostTensor<f32> in_f32(Shape{expected.rows(), count}), by_value(Shape{expected.rows(), count});
    HostTensor<bf16> in_bf16(Shape{expected.rows(), count}), rounded(Shape{expected.rows(), count});
    to_f32({rows.data(), row_bytes}, expected.rows(), first, count, in_f32.data(), count);
    to_bf16({rows.data(), row_bytes}, expected.rows(), first, count, in_bf16.data(), count);
    for (std::int64_t r = 0; r < expected.rows(); ++r) {
      const auto* const row = reinterpret_cast<const TestType*>(rows.data() + r * row_bytes);
      decode_run<TestType>(row, first, count, by_value.view().row(r).data());
      const auto at =
          expected.view().row(r).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      if (!same_bytes<f32>(at, in_f32.view().row(r)) || !same_bytes<f32>(at, by_value.view().row(r)))
        wrong.push_back("row " + std::to_string(r) + " from " + std::to_string(first));
    }
    host::convert_row<bf16>(std::span<const f32>(in_f32.values()), rounded.values());
    CHECK(same_bytes<bf16>(in_bf16.values(), rounded.values()));
  }
  CHECK(wrong == std::vector<std::string>{});
  // On from one row to the next, as those read who count by values.
  std::vector<f32> across(static_cast<std::size_t>(2 * columns + 5));
  to_f32({rows.data(), 0}, 1, 70, std::ssize(across), across.data(), 0);
  CHECK(same_bytes<f32>(std::span<const f32>(expected.values()).subspan(70, across.size()), across));
}

TEMPLATE_LIST_TEST_CASE("rows under scales: every code under scales of every kind decodes alike", "[quant]",
                        RowFormats) {
  const auto to_f32 = host::rows_decoder<f32>(dtype_traits<TestType>::name);
  for (const f32 scale : {1.0f, -0.37f, 0.0f, 3e38f, 1e-45f, HUGE_VALF, std::nanf("")}) {
    CAPTURE(scale);
    std::vector<std::byte> row(8 + 256);
    const std::uint32_t columns = 256;
    std::memcpy(row.data(), &scale, 4);
    std::memcpy(row.data() + 4, &columns, 4);
    for (std::size_t i = 0; i < 256; ++i) row[8 + i] = static_cast<std::byte>(i);
    std::vector<f32> in_vectors(256), by_value(256);
    to_f32({row.data(), 0}, 1, 0, 256, in_vectors.data(), 0);
    decode_run<TestType>(reinterpret_cast<const TestType*>(row.data()), 0, 256, by_value.data());
    std::vector<std::size_t> wrong;
    for (std::size_t i = 0; i < 256; ++i) {
      const scaled_code_of<TestType> code =
          std::bit_cast<scaled_code_of<TestType>>(static_cast<std::uint8_t>(i));
      double number;
      if constexpr (std::is_same_v<decltype(code), const std::int8_t>)
        number = code;
      else
        number = to_double(code);
      const auto expected = static_cast<f32>(number * static_cast<double>(scale));
      const bool same = std::isnan(expected) ? std::isnan(in_vectors[i]) && std::isnan(by_value[i])
                                             : in_vectors[i] == expected && by_value[i] == expected;
      if (!same) wrong.push_back(i);
    }
    CHECK(wrong == std::vector<std::size_t>{});
  }
}

TEST_CASE("rows under scales: sizes that do not fit and values that are no numbers are refused", "[quant]") {
  std::vector<f32> values(12, 1.0f);
  std::vector<std::byte> rows(3 * 12);
  CHECK_NOTHROW(quant::encode_rows<int8_row>(values, 4, rows));
  CHECK_THROWS_AS(quant::encode_rows<int8_row>(values, 5, rows), ShapeError);
  CHECK_THROWS_AS(quant::encode_rows<int8_row>(values, 6, rows), ShapeError);
  CHECK_THROWS_AS(quant::encode_rows<int8_row>(values, 0, rows), ShapeError);
  values[7] = HUGE_VALF;
  CHECK_THROWS_WITH(quant::encode_rows<fp8_e4m3_row>(values, 4, rows), Catch::Contains("7"));
}
