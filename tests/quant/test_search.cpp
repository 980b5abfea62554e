// The search encoder: no block with a larger error than the reference's, a smaller one in all, and what an
// importance does.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <quant/generated_values.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/by_name.hpp>
#include <precast/quant/encode.hpp>

namespace own {

/// Four values over the largest, in eighths.
struct Quartet {
  precast::f32 scale;
  std::int8_t eighths[4];
};
struct SearchedQuartet : Quartet {};

inline void encode_with(precast::f32 scale, const precast::f32* values, Quartet& block) {
  block.scale = scale;
  for (int i = 0; i < 4; ++i) block.eighths[i] = static_cast<std::int8_t>(std::lround(8 * values[i] / scale));
}
inline void encode_block(const precast::f32* values, Quartet& block) {
  precast::f32 largest = 0;
  for (int i = 0; i < 4; ++i) largest = std::max(largest, std::fabs(values[i]));
  encode_with(largest, values, block);
}
/// Has nothing else to offer than 4.
inline void search_block(const precast::f32* values, const precast::f32*, SearchedQuartet& block) {
  encode_with(4, values, block);
}

/// More values in a block than a task encodes at a time of smaller ones.
struct Large {
  static constexpr int values = 10'000;
  std::int8_t numbers[values];
};
inline void encode_block(const precast::f32* values, Large& block) {
  for (int i = 0; i < Large::values; ++i) block.numbers[i] = static_cast<std::int8_t>(values[i]);
}

}  // namespace own

namespace precast {

template <>
struct dtype_traits<own::Quartet> {
  static constexpr std::string_view name = "quartet";
  static constexpr int values_per_block = 4, bytes_per_block = sizeof(own::Quartet);
  static void decode(const own::Quartet& block, int first, int count, f32* values) {
    for (int i = 0; i < count; ++i) values[i] = block.scale * static_cast<f32>(block.eighths[first + i]) / 8;
  }
};
template <>
struct dtype_traits<own::SearchedQuartet> : dtype_traits<own::Quartet> {};
template <>
struct dtype_traits<own::Large> {
  static constexpr std::string_view name = "large";
  static constexpr int values_per_block = own::Large::values, bytes_per_block = sizeof(own::Large);
  static void decode(const own::Large& block, int first, int count, f32* values) {
    std::copy_n(block.numbers + first, count, values);
  }
};

}  // namespace precast

using namespace precast;
using own::Quartet, own::SearchedQuartet;
using precast::testing::generated_values;
using precast::testing::hash_of_words;
using precast::testing::splitmix;
using quant::Encoder;

namespace {

using AllFormats = std::tuple<q8_0, mxfp8, q6_k, mxfp6_e3m2, mxfp6_e2m3, q5_1, q5_0, q5_k, q4_1, q4_0, q4_k,
                              iq4_nl, nvfp4, iq4_xs, mxfp4, q3_k, q2_k>;
static_assert(std::tuple_size_v<AllFormats> == BlockFormats::size);

constexpr std::size_t columns = 1024;

template <class Format>
constexpr std::size_t in_block = dtype_traits<Format>::values_per_block;

template <class Format>
std::vector<Format> encoded(std::span<const f32> values, const quant::EncodeOptions& options) {
  std::vector<Format> blocks(values.size() / in_block<Format>);
  quant::encode<Format>(values, blocks, options);
  return blocks;
}

/// Weighted squared errors of blocks, one for each, of values as they are decoded.
template <class Format>
std::vector<double> errors(std::span<const f32> values, std::span<const f32> weights,
                           const std::vector<Format>& blocks) {
  std::vector<f32> back(values.size());
  decode_run<Format>(blocks.data(), 0, static_cast<std::int64_t>(values.size()), back.data());
  std::vector<double> result(blocks.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = static_cast<double>(back[i]) - static_cast<double>(values[i]);
    const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[i % weights.size()]);
    result[i / in_block<Format>] += weight * (off * off);
  }
  return result;
}

double sum(const std::vector<double>& terms) {
  double total = 0;
  for (const double term : terms) total += term;
  return total;
}

/// Close to normally distributed: sums of 12 even numbers.
std::vector<f32> bell_values(std::size_t count, std::uint64_t seed) {
  std::vector<f32> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    double total = -6;
    for (std::size_t k = 0; k < 12; ++k)
      total += static_cast<double>(splitmix(seed, 12 * i + k) >> 11) * 0x1p-53;
    values[i] = static_cast<f32>(0.02 * total);
  }
  return values;
}

/// Columns that matter from not at all to a thousand times as much.
std::vector<f32> some_importance() {
  std::vector<f32> importance(columns);
  for (std::size_t i = 0; i < columns; ++i)
    importance[i] = i % 7 == 0 ? 0.0f : std::ldexp(1.0f, static_cast<int>(splitmix(11, i) % 11));
  return importance;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the search encoder never leaves a larger error than the reference in any block",
                        "[quant]", AllFormats) {
  std::vector<f32> values = generated_values(64 * columns);
  const std::vector<f32> bell = bell_values(64 * columns, 21), importance = some_importance();
  values.insert(values.end(), bell.begin(), bell.end());
  for (const std::span<const f32> weights : {std::span<const f32>{}, std::span<const f32>(importance)}) {
    const auto before = errors(values, weights, encoded<TestType>(values, {}));
    const auto after = errors(values, weights, encoded<TestType>(values, {Encoder::search, weights}));
    std::vector<std::size_t> worse;
    for (std::size_t b = 0; b < before.size(); ++b)
      if (after[b] > before[b] || (!std::isnan(before[b]) && std::isnan(after[b]))) worse.push_back(b);
    CHECK(worse.empty());
    // Of blocks whose error is a number at all. The second half are values as weights are.
    const std::size_t half = before.size() / 2;
    const double was = sum({before.begin() + static_cast<std::ptrdiff_t>(half), before.end()});
    const double is = sum({after.begin() + static_cast<std::ptrdiff_t>(half), after.end()});
    CHECK(is < was);
  }
}

TEMPLATE_LIST_TEST_CASE("of values too small for a block's scale the search makes zeros at worst", "[quant]",
                        AllFormats) {
  for (const f32 size : {1e-7f, 3e-7f, 1e-6f, 3e-6f, 1e-5f}) {
    std::vector<f32> values = bell_values(64 * columns, 5);
    for (f32& value : values) value *= size;
    const auto left = errors(values, {}, encoded<TestType>(values, {Encoder::search, {}}));
    for (std::size_t b = 0; b < left.size(); ++b) {
      const std::size_t in_block = values.size() / left.size();
      double of_zeros = 0;
      for (std::size_t i = b * in_block; i < (b + 1) * in_block; ++i)
        of_zeros += double{values[i]} * values[i];
      CHECK(left[b] <= of_zeros);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("an importance lowers the error that it weighs", "[quant]", AllFormats) {
  const std::vector<f32> values = bell_values(64 * columns, 22), importance = some_importance();
  const auto alike = encoded<TestType>(values, {Encoder::search, {}});
  const auto weighed = encoded<TestType>(values, {Encoder::search, importance});
  const double was = sum(errors(values, importance, alike)), is = sum(errors(values, importance, weighed));
  // mxfp8 can only choose a power of two, and all but its least values are as near by either of two.
  const bool better = std::is_same_v<TestType, mxfp8> ? is <= was : is < was;
  CHECK(better);
  CHECK(sum(errors(values, {}, alike)) < sum(errors(values, {}, weighed)));
  // Twice as much everywhere is no difference, in powers of two not even one of rounding.
  std::vector<f32> twice(columns, 2.0f);
  const auto same = encoded<TestType>(values, {Encoder::search, twice});
  CHECK(std::memcmp(same.data(), alike.data(), same.size() * sizeof(TestType)) == 0);
  const int threads = host::threads();
  host::set_threads(3);
  const auto again = encoded<TestType>(values, {Encoder::search, importance});
  host::set_threads(threads);
  CHECK(std::memcmp(again.data(), weighed.data(), again.size() * sizeof(TestType)) == 0);
}

TEST_CASE("the search encoder writes the same bytes on every machine", "[quant]") {
  // As g++ with 4, 8 and 16 lanes and clang++ with 4 and 16 wrote them. They change where the search does.
  const std::map<std::string_view, std::string_view> hashes{
      {"q8_0", "e65cc621f4909ff2"},       {"mxfp8", "4f8f8b036c3d2ef1"},      {"q6_k", "4fa0d73d0d05dbe6"},
      {"mxfp6_e3m2", "2755128ad4dfe4ba"}, {"mxfp6_e2m3", "61a0f04527361ae4"}, {"q5_1", "cf1b3f1472aa23f9"},
      {"q5_0", "7e365f7f1e74e428"},       {"q5_k", "9cddd8f3355100ef"},       {"q4_1", "6a66349d69f7460c"},
      {"q4_0", "aba2a0b183c688c7"},       {"q4_k", "6409e7afa435c8cf"},       {"iq4_nl", "bd82b337a3afe4e6"},
      {"nvfp4", "ac3bcf19c737f014"},      {"iq4_xs", "3c1d1f895da60d1b"},     {"mxfp4", "613117b100898034"},
      {"q3_k", "8614727d97b6f477"},       {"q2_k", "48e8d594ffb38801"},
  };
  const std::vector<f32> values = generated_values(128 * 256);
  std::vector<f32> importance(512);
  for (std::size_t i = 0; i < importance.size(); ++i) importance[i] = static_cast<f32>(splitmix(4, i) % 100);
  for (const BlockFormat& format : block_formats) {
    INFO(format.info.name);
    std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(format.info.values_per_block) *
                                 static_cast<std::size_t>(format.info.bytes_per_block));
    quant::encode(format.info.name, values, bytes, {Encoder::search, importance});
    CHECK(hash_of_words(bytes) == hashes.at(format.info.name));
  }
}

TEST_CASE("a block dtype of one's own has the encoders that it brings", "[quant]") {
  // Eighths of 5 are not those of the first four values, which eighths of 4 are; the others are eighths of 6.
  const std::vector<f32> values{1, 2, 3, 5, -0.75f, -1.5f, -3, -6};
  std::vector<Quartet> plain(2);
  quant::encode<Quartet>(values, plain);
  CHECK(plain[1].scale == 6);
  CHECK_THROWS_WITH(quant::encode<Quartet>(values, plain, {Encoder::search, {}}),
                    "encode: quartet has no search encoder: choose the reference encoder");
  std::vector<SearchedQuartet> searched(2);
  quant::encode<SearchedQuartet>(values, searched, {Encoder::search, {}});
  CHECK(searched[0].scale == 4);
  CHECK(searched[1].scale == 6);
}

TEST_CASE("of few scales the search finds the best", "[quant]") {
  const std::vector<f32> values = bell_values(4 * columns, 23);
  const std::vector<f32> ones(64, 1.0f);
  // What a search compares are sums of f32 over at most 64 values, each rounded about three times.
  constexpr double rounding = 1 + 256 * 0x1p-24;

  const auto check_powers = [&]<class Format>(std::type_identity<Format>, auto encode_by) {
    INFO(dtype_traits<Format>::name);
    const auto found = encoded<Format>(values, {Encoder::search, {}});
    for (std::size_t b = 0; b < found.size(); ++b) {
      double best = HUGE_VAL;
      for (int power = -127; power < 128; ++power) {
        Format block{};
        encode_by(&values[32 * b], power, block);
        best = std::min(best, quant::squared_error(&values[32 * b], ones.data(), block));
      }
      CHECK(quant::squared_error(&values[32 * b], ones.data(), found[b]) <= best * rounding);
    }
  };
  check_powers(std::type_identity<mxfp4>{}, [](const f32* from, int power, mxfp4& block) {
    block.scale = static_cast<std::uint8_t>(power + 127);
    quant::detail::code_e2m1<16>(from, precast::detail::half_e8m0(block.scale), block.low);
  });
  const auto over_power = [](const f32* from, int power, auto& block) {
    quant::detail::code_over_power(from, power, block);
  };
  check_powers(std::type_identity<mxfp6_e3m2>{}, over_power);
  check_powers(std::type_identity<mxfp6_e2m3>{}, over_power);
  check_powers(std::type_identity<mxfp8>{}, over_power);

  const auto with_e4m3 = encoded<nvfp4>(values, {Encoder::search, {}});
  for (std::size_t b = 0; b < with_e4m3.size(); ++b) {
    nvfp4 best{};
    for (int g = 0; g < 4; ++g) {
      double least = HUGE_VAL;
      for (int code = 0; code < 0x7f; ++code) {
        nvfp4 block = best;
        block.scales[g] = static_cast<std::uint8_t>(code);
        quant::detail::code_e2m1<8>(&values[64 * b + 16 * static_cast<std::size_t>(g)],
                                    precast::detail::half_unsigned_e4m3(block.scales[g]), block.low + 8 * g);
        const double error = quant::squared_error(&values[64 * b], ones.data(), block);
        if (error < least) least = error, best = block;
      }
    }
    CHECK(quant::squared_error(&values[64 * b], ones.data(), with_e4m3[b]) <=
          quant::squared_error(&values[64 * b], ones.data(), best) * rounding);
  }
}

TEST_CASE("values that lie on a grid come back without an error", "[quant]") {
  // q4_0's own numbers under a scale that the reference does not find: no value goes to -8.
  std::vector<f32> values(32);
  for (std::size_t i = 0; i < 32; ++i) values[i] = 0.25f * static_cast<f32>(static_cast<int>(i % 15) - 7);
  CHECK(sum(errors(values, {}, encoded<q4_0>(values, {}))) > 0);
  CHECK(sum(errors(values, {}, encoded<q4_0>(values, {Encoder::search, {}}))) == 0);
}

TEMPLATE_LIST_TEST_CASE("an importance of any size in all columns alike makes the same bytes", "[quant]",
                        AllFormats) {
  const std::vector<f32> values = bell_values(16 * columns, 23), importance = some_importance();
  const auto weighed = encoded<TestType>(values, {Encoder::search, importance});
  for (const int power : {-120, -60, 60, 110}) {
    INFO(power);
    std::vector<f32> scaled = importance;
    for (f32& weight : scaled) weight = std::ldexp(weight, power);
    const auto again = encoded<TestType>(values, {Encoder::search, scaled});
    CHECK(std::memcmp(again.data(), weighed.data(), again.size() * sizeof(again[0])) == 0);
  }
}

TEST_CASE("an importance that does not fit is refused", "[quant]") {
  const std::vector<f32> values(512, 1.0f);
  std::vector<q4_0> blocks(16);
  std::vector<f32> importance(256, 1.0f);
  const auto encode = [&](quant::EncodeOptions options) { quant::encode<q4_0>(values, blocks, options); };
  CHECK_NOTHROW(encode({Encoder::search, importance}));
  CHECK_THROWS_WITH(encode({Encoder::reference, importance}), Catch::Contains("choose the search encoder"));
  CHECK_THROWS_AS(encode({Encoder::search, std::span(importance).first(255)}), ShapeError);
  CHECK_THROWS_AS(encode({Encoder::search, std::span(importance).first(96)}), ShapeError);
  for (const f32 bad : {-1.0f, HUGE_VALF, std::numeric_limits<f32>::quiet_NaN()}) {
    importance[7] = bad;
    CHECK_THROWS_WITH(encode({Encoder::search, importance}), Catch::Contains("column 7 is negative"));
  }
  CHECK(quant::encoder_named("search") == Encoder::search);
}

TEST_CASE("blocks of more values than a task has are encoded one a task", "[quant]") {
  std::vector<f32> values(3 * own::Large::values);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<f32>(i % 101);
  const std::vector<own::Large> blocks = encoded<own::Large>(values, {});
  std::vector<f32> back(values.size());
  decode_run<own::Large>(blocks.data(), 0, static_cast<std::int64_t>(values.size()), back.data());
  CHECK(back == values);
}
