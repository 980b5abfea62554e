// fp8 and int8 under a scale for a tensor or a row: the nearest code of all, found by trying all.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <quant/generated_values.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/scaled.hpp>

using namespace precast;
using precast::testing::generated_values;

namespace {

using AllCodes = std::tuple<fp8_e4m3, fp8_e5m2, std::int8_t>;

template <class Code>
struct Encoded {
  std::vector<Code> codes;
  std::vector<f32> scales;

  Encoded(std::span<const f32> values, std::size_t runs) : codes(values.size()), scales(runs) {
    quant::encode_scaled<Code>(values, codes, scales);
  }
};

template <class Code>
double number(Code code) {
  if constexpr (std::is_same_v<Code, std::int8_t>)
    return code;
  else
    return to_double(code);
}

/// Every finite number that a code may be; -128 is none.
template <class Code>
std::vector<double> numbers() {
  std::vector<double> result;
  for (int bits = 0; bits < 256; ++bits) {
    Code code;
    if constexpr (std::is_same_v<Code, std::int8_t>)
      code = static_cast<std::int8_t>(bits - 128);
    else
      code = Code{static_cast<std::uint8_t>(bits)};
    const double value = number(code);
    if (std::isfinite(value) && value != -128) result.push_back(value);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

/// Whether a number's last bit is 0 in its format.
template <class Code>
bool is_even(Code code) {
  if constexpr (std::is_same_v<Code, std::int8_t>)
    return code % 2 == 0;
  else
    return code.bits % 2 == 0;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("scaled codes are the nearest ones, ties to even", "[quant]", AllCodes) {
  constexpr std::size_t columns = 256;
  std::vector<f32> values = generated_values(32 * columns);
  // A row whose scale is 1, with every tie between two codes.
  const std::vector<double> grid = numbers<TestType>();
  std::vector<f32> ties{quant::largest_code<TestType>()};
  for (std::size_t i = 1; i < grid.size(); ++i) ties.push_back(static_cast<f32>((grid[i - 1] + grid[i]) / 2));
  ties.resize(columns);
  values.insert(values.end(), ties.begin(), ties.end());
  const Encoded<TestType> rows(values, values.size() / columns);
  CHECK(rows.scales.back() == 1);
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Distances times the scale: exact in f64, where quotients are not.
    const auto scale = static_cast<double>(rows.scales[i / columns]), value = static_cast<double>(values[i]);
    const double off = std::abs(number(rows.codes[i]) * scale - value);
    for (const double other : grid) {
      const double distance = std::abs(other * scale - value);
      if (distance < off || (distance == off && other != number(rows.codes[i]) && !is_even(rows.codes[i]))) {
        wrong.push_back(i);
        break;
      }
    }
  }
  CHECK(wrong == std::vector<std::size_t>{});
}

TEMPLATE_LIST_TEST_CASE("a scale takes the largest magnitude to the largest code", "[quant]", AllCodes) {
  constexpr std::size_t columns = 20000;  // more than a task takes
  std::vector<f32> values = generated_values(3 * columns);
  for (f32& value : values) value *= 0x1p-8f;  // all below 2^17 then
  values[columns + 17000] = -3e5f;
  std::fill(values.begin() + 2 * columns, values.end(), -0.0f);
  const Encoded<TestType> rows(values, 3), tensor(values, 1);
  constexpr f32 largest = quant::largest_code<TestType>();
  CHECK(largest == (std::is_same_v<TestType, fp8_e4m3>   ? 448
                    : std::is_same_v<TestType, fp8_e5m2> ? 57344
                                                         : 127));
  CHECK(tensor.scales[0] == 3e5f / largest);
  CHECK(rows.scales[1] == tensor.scales[0]);
  CHECK(rows.scales[0] < rows.scales[1]);
  CHECK(rows.scales[2] == 1);
  CHECK(number(rows.codes[columns + 17000]) == -static_cast<double>(largest));
  const int threads = host::threads();
  host::set_threads(3);
  const Encoded<TestType> again(values, 3);
  host::set_threads(threads);
  CHECK(std::ranges::equal(again.codes, rows.codes));

  std::vector<f32> back(values.size());
  quant::decode_scaled<TestType>(rows.codes, rows.scales, back);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < back.size(); ++i)
    wrong +=
        back[i] != static_cast<f32>(number(rows.codes[i]) * static_cast<double>(rows.scales[i / columns]));
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("scaled codes of the smallest values, and what is refused", "[quant]", AllCodes) {
  const f32 least = std::numeric_limits<f32>::denorm_min();
  const Encoded<TestType> tiny(std::vector<f32>{least, -least, 0.0f, least}, 1);
  CHECK(tiny.scales[0] == least);
  CHECK(number(tiny.codes[0]) == 1);
  CHECK(number(tiny.codes[1]) == -1);

  std::vector<f32> values(30000, 1.0f), scales(2);
  std::vector<TestType> codes(values.size());
  const auto encode = [&](std::size_t runs) {
    quant::encode_scaled<TestType>(values, codes, std::span(scales).first(runs));
  };
  CHECK_NOTHROW(encode(2));
  for (const f32 bad : {HUGE_VALF, -HUGE_VALF, std::numeric_limits<f32>::quiet_NaN()}) {
    values[25000] = bad;
    CHECK_THROWS_WITH(encode(2), Catch::Contains("value 25000 is infinite or NaN"));
  }
  values[25000] = 0;
  CHECK_THROWS_AS(encode(0), ShapeError);
  values.pop_back();
  CHECK_THROWS_AS(encode(1), ShapeError);
  codes.pop_back();
  CHECK_NOTHROW(encode(1));
  CHECK_THROWS_AS(encode(2), ShapeError);
  CHECK_THROWS_AS(quant::decode_scaled<TestType>(codes, std::span<const f32>(scales), values), ShapeError);
  CHECK_NOTHROW(quant::encode_scaled<TestType>({}, {}, {}));
}
