// The search encoder of rows under a scale: no row, and no tensor under one scale, with a larger error than
// the reference's, a smaller one in all, and what an importance does.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <quant/generated_values.hpp>

#include <precast/dtype/decode_run.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/scaled_rows.hpp>

namespace row_search {
namespace {

using namespace precast;
using precast::testing::generated_values;
using precast::testing::hash_of_words;
using precast::testing::splitmix;
using quant::EncodeOptions, quant::Encoder;

using RowFormats = std::tuple<fp8_e4m3_row, fp8_e5m2_row, int8_row, fp8_e4m3_tensor, fp8_e5m2_tensor>;

/// Not a multiple of what is tried at a time.
constexpr std::size_t columns = 1000;

template <class Format>
std::vector<std::byte> encoded(std::span<const f32> values, const EncodeOptions& options) {
  std::vector<std::byte> rows(values.size() / columns * (8 + columns));
  quant::encode_rows<Format>(values, columns, rows, options);
  return rows;
}

/// Weighted squared errors of values as they decode: of each row, or of all where they have one scale.
template <class Format>
std::vector<double> errors(std::span<const f32> values, std::span<const f32> weights,
                           const std::vector<std::byte>& rows) {
  std::vector<double> result;
  std::vector<f32> back(columns);
  for (std::size_t r = 0; r < values.size() / columns; ++r) {
    decode_run<Format>(reinterpret_cast<const Format*>(rows.data() + r * (8 + columns)), 0, columns,
                       back.data());
    double error = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      const double off = static_cast<double>(back[c]) - static_cast<double>(values[r * columns + c]);
      error += (weights.empty() ? 1.0 : static_cast<double>(weights[c])) * (off * off);
    }
    if (scale_of<Format> == ScaleOf::row || result.empty())
      result.push_back(error);
    else
      result.front() += error;
  }
  return result;
}

template <class Format>
double error_of(std::span<const f32> values, std::span<const f32> weights, const EncodeOptions& options) {
  double total = 0;
  for (const double error : errors<Format>(values, weights, encoded<Format>(values, options))) total += error;
  return total;
}

/// Close to normally distributed.
std::vector<f32> normal_values(std::size_t rows, std::uint64_t seed) {
  std::vector<f32> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double total = -6;
    for (std::size_t k = 0; k < 12; ++k)
      total += static_cast<double>(splitmix(seed, 12 * i + k) >> 11) * 0x1p-53;
    values[i] = static_cast<f32>(total);
  }
  return values;
}

/// Of several scales, down to subnormal numbers and up to the largest; every second row has some outliers.
std::vector<f32> rows_of_all_scales() {
  std::vector<f32> values = normal_values(48, 31);
  for (std::size_t r = 0; r < 48; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      f32& value = values[r * columns + c];
      const bool outlier = r % 2 && splitmix(32 + r, c) % 200 == 0;
      value = std::ldexp(outlier ? std::copysign(16.0f, value) : value, static_cast<int>(r) * 6 - 160);
    }
  const std::vector<f32> others = generated_values(16 * columns);
  values.insert(values.end(), others.begin(), others.end());
  values.insert(values.end(), columns, 0.0f);
  return values;
}

std::vector<f32> some_importance() {
  std::vector<f32> importance(columns);
  for (std::size_t c = 0; c < columns; ++c)
    importance[c] = c % 7 == 0 ? 0.0f : std::ldexp(1.0f, static_cast<int>(splitmix(11, c) % 11));
  return importance;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the search of a row's scale is never worse than the reference", "[quant]",
                        RowFormats) {
  const std::vector<f32> values = rows_of_all_scales(), importance = some_importance();
  for (const std::span<const f32> weights : {std::span<const f32>{}, std::span<const f32>(importance)}) {
    // Under one scale each row by itself is a tensor, too: of all scales one row decides.
    const std::size_t in_tensor = scale_of<TestType> == ScaleOf::row ? values.size() : columns;
    std::vector<std::size_t> worse;
    std::size_t better = 0, all = 0;
    for (std::size_t first = 0; first < values.size(); first += in_tensor) {
      const auto here = std::span(values).subspan(first, in_tensor);
      const auto before = errors<TestType>(here, weights, encoded<TestType>(here, {}));
      const auto after = errors<TestType>(here, weights, encoded<TestType>(here, {Encoder::search, weights}));
      for (std::size_t r = 0; r < before.size(); ++r, ++all) {
        if (!(after[r] <= before[r])) worse.push_back(first / columns + r);
        better += after[r] < before[r];
      }
    }
    CHECK(worse == std::vector<std::size_t>{});
    // Of any size: rows of 48 normal ones whose scale rounds to the least f32 are few.
    CHECK(better > all / 2);
  }
}

TEMPLATE_LIST_TEST_CASE("the search of row scales lowers what an importance weighs", "[quant]", RowFormats) {
  std::vector<f32> values = normal_values(64, 33);
  std::vector<f32> importance = some_importance();
  const EncodeOptions alike{Encoder::search, {}}, weighed{Encoder::search, importance};
  CHECK(error_of<TestType>(values, {}, alike) < error_of<TestType>(values, {}, {}));
  CHECK(error_of<TestType>(values, importance, weighed) < error_of<TestType>(values, importance, alike));
  CHECK(error_of<TestType>(values, {}, alike) < error_of<TestType>(values, {}, weighed));

  const auto once = encoded<TestType>(values, weighed);
  std::vector<f32> twice = importance;
  for (f32& weight : twice) weight *= 2;
  CHECK(encoded<TestType>(values, {Encoder::search, twice}) == once);
  const int threads = host::threads();
  host::set_threads(3);
  CHECK(encoded<TestType>(values, weighed) == once);
  host::set_threads(threads);

  // What counts for nothing may be far outside: codes of the others are as if it were not there.
  std::vector<f32> only(columns, 1.0f), inside = values;
  only[3] = 0;
  for (std::size_t i = 3; i < values.size(); i += columns) values[i] = 100, inside[i] = 0;
  const double with = error_of<TestType>(values, only, {Encoder::search, only});
  const double reference = error_of<TestType>(values, only, {});
  CHECK(with < reference);
  if (std::is_same_v<TestType, int8_row>) CHECK(with < error_of<TestType>(inside, only, {}));
}

TEST_CASE("a tensor's scale that a search finds is the same for any number of threads", "[quant]") {
  std::vector<f32> values = normal_values(64, 35);
  for (std::size_t i = 0; i < values.size(); i += 700) values[i] *= 20;
  const auto once = encoded<fp8_e4m3_tensor>(values, {Encoder::search, {}});
  CHECK(once != encoded<fp8_e4m3_tensor>(values, {}));
  const int threads = host::threads();
  for (const int count : {1, 2, 5}) {
    host::set_threads(count);
    CHECK(encoded<fp8_e4m3_tensor>(values, {Encoder::search, {}}) == once);
  }
  host::set_threads(threads);
}

TEST_CASE("the search of row scales comes close to the best of all scales", "[quant]") {
  // Of 4,000 scales from an eighth of the reference's to twice that, the least error; the search takes half
  // of what this gains, or more.
  const std::vector<f32> values = normal_values(4, 37);
  const auto check = [&]<class Code>(Code) {
    double reference = 0, best = 0, found = 0;
    for (std::size_t r = 0; r < 4; ++r) {
      const auto row = std::span(values).subspan(r * columns, columns);
      const f32 scale = quant::scale_for<Code>(quant::largest_magnitude(row));
      double least = HUGE_VAL;
      for (int step = 0; step < 4000; ++step)
        least = std::min(least, quant::detail::squared_error_under<Code>(
                                    row, {}, scale * static_cast<f32>(std::exp2(1 - step * 0.001))));
      best += least;
      reference += quant::detail::squared_error_under<Code>(row, {}, scale);
      found += quant::detail::squared_error_under<Code>(
          row, {}, quant::search_scale<Code>(scale, [&](const auto& sums_of) { return sums_of(row, {}); }));
    }
    CHECK(reference - found >= (reference - best) / 2);
  };
  check(std::int8_t{});
  check(fp8_e4m3{});
  check(fp8_e5m2{});
}

TEST_CASE("the search of row scales writes the same bytes on every machine", "[quant]") {
  // As g++ with 4 and 16 lanes wrote them. They change where the search does.
  const std::map<std::string_view, std::string_view> hashes{
      {"fp8_e4m3_row", "c69375b25d2a0d8a"},    {"fp8_e5m2_row", "a85ca7ccb2358e5e"},
      {"int8_row", "323729e5f98fc423"},        {"fp8_e4m3_tensor", "6f80f192ab21bb75"},
      {"fp8_e5m2_tensor", "a917037a41344bc4"},
  };
  const std::vector<f32> values = normal_values(64, 36), importance = some_importance();
  any_scaled_row_dtype([&]<class Format>(std::type_identity<Format>) {
    INFO(dtype_traits<Format>::name);
    CHECK(hash_of_words(encoded<Format>(values, {Encoder::search, importance})) ==
          hashes.at(dtype_traits<Format>::name));
    return false;
  });
}

TEST_CASE("an importance that does not fit rows under scales is refused", "[quant]") {
  const std::vector<f32> values(4 * columns, 1.0f);
  std::vector<f32> importance(2 * columns, 1.0f);
  const auto encode = [&](EncodeOptions options) { encoded<int8_row>(values, options); };
  CHECK_NOTHROW(encode({Encoder::search, std::span(importance).first(columns)}));
  CHECK_THROWS_WITH(encode({Encoder::reference, std::span(importance).first(columns)}),
                    Catch::Contains("choose the search encoder"));
  for (const std::size_t wrong : {columns - 1, columns / 2, 2 * columns})
    CHECK_THROWS_AS(encode({Encoder::search, std::span(importance).first(wrong)}), ShapeError);
  for (const f32 bad : {-1.0f, HUGE_VALF, std::numeric_limits<f32>::quiet_NaN()}) {
    importance[7] = bad;
    CHECK_THROWS_WITH(encode({Encoder::search, std::span(importance).first(columns)}),
                      Catch::Contains("column 7 is negative"));
  }
  std::vector<std::int8_t> codes(values.size());
  std::vector<f32> scales(4);
  CHECK_THROWS_AS(
      quant::encode_scaled<std::int8_t>(values, codes, scales,
                                        {Encoder::search, std::span<const f32>(values).first(2 * columns)}),
      ShapeError);
}

}  // namespace row_search
