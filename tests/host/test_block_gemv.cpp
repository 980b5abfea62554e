// Products of a few rows with blocks as they lie: float64's sums of the values that decode gives, for random
// bytes of every format.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/random_bytes.hpp>
#include <support/skip.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/blocks/block_dots.hpp>
#include <precast/memory/memory.hpp>

using namespace precast;

namespace {

/// A code of 8 bits, or the finite one next to it.
template <class Code>
std::uint8_t finite(std::uint8_t code) {
  if constexpr (!std::is_same_v<Code, std::int8_t>)
    while (!std::isfinite(convert_value<f32>(Code{code}))) --code;
  return code;
}

/// Random bytes as blocks, whose scales and least values in f16 are numbers below 2; nvfp4's are as they
/// come.
template <class Format>
std::vector<Format> random_blocks(std::size_t count, std::uint32_t seed) {
  std::vector<Format> blocks = testing::random_bytes<Format>(count, seed);
  if constexpr (std::is_same_v<Format, mxfp8>)
    for (mxfp8& block : blocks)
      for (std::uint8_t& code : block.codes) code = finite<fp8_e4m3>(code);
  if constexpr (!std::is_same_v<Format, nvfp4> && !ScaledRowDtype<Format>)
    for (Format& block : blocks) {
      if constexpr (sizeof block.scale == 2) block.scale = block.scale & 0xbfff;
      if constexpr (requires { block.least; }) block.least = block.least & 0xbfff;
      // Powers of two that f32 sums without a loss.
      if constexpr (sizeof block.scale == 1) block.scale = static_cast<std::uint8_t>(96 + block.scale % 64);
    }
  return blocks;
}

/// Rows of a matrix: of a format whose blocks are rows, with scales of any power that f32 sums without a
/// loss.
template <class Format>
std::vector<Format> random_rows(std::int64_t rows, std::int64_t columns, std::uint32_t seed) {
  auto blocks = random_blocks<Format>(
      static_cast<std::size_t>(rows * bytes_for<Format>(columns)) / sizeof(Format), seed);
  if constexpr (ScaledRowDtype<Format>) {
    for (Format& byte : blocks) byte.first_byte = finite<scaled_code_of<Format>>(byte.first_byte);
    for (std::int64_t r = 0; r < rows; ++r)
      write_row_head(std::ldexp(r % 2 == 0 ? 1.3f : -1.7f, static_cast<int>(9 * r) - 40), columns,
                     reinterpret_cast<std::byte*>(blocks.data()) + r * bytes_for<Format>(columns));
  }
  return blocks;
}

/// Blocks whose values are their offsets.
template <class Format>
std::vector<Format> without_codes(std::vector<Format> blocks) {
  for (Format& block : blocks) {
    std::memset(block.low, 0, sizeof block.low);
    if constexpr (requires { block.high; }) std::memset(block.high, 0, sizeof block.high);
  }
  return blocks;
}

struct Sums {
  std::vector<f32> values;  ///< [row][feature]
};

template <class T>
Sums product(const host::BlockGemv<T>& gemv, const host::BlockRows& weight, std::int64_t features,
             std::int64_t columns, std::span<const T> x) {
  const auto rows = std::ssize(x) / columns, row_bytes = gemv.row_bytes(columns);
  Buffer arranged(static_cast<std::size_t>(rows * row_bytes));
  for (std::int64_t r = 0; r < rows; ++r)
    gemv.arrange(x.subspan(static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns)),
                 arranged.data() + r * row_bytes);
  Sums sums{std::vector<f32>(static_cast<std::size_t>(rows * features), std::nanf(""))};
  gemv.multiply(weight, features, columns, arranged.data(), rows, sums.values.data(), features);
  return sums;
}

template <class Format, class T>
void check(std::int64_t columns) {
  const auto gemv = host::block_gemv_for<T>(dtype_traits<Format>::name);
  REQUIRE(gemv.multiply);
  constexpr std::int64_t features = 7, rows = 4;
  const std::int64_t in_row = bytes_for<Format>(columns) / std::int64_t{sizeof(Format)};
  const auto blocks = random_rows<Format>(features, columns, 5);
  std::vector<Format> offset_blocks;
  if constexpr (requires(Format block) { block.least; }) offset_blocks = without_codes(blocks);
  std::mt19937 engine(9);
  std::normal_distribution<f32> normal;
  std::vector<T> x(static_cast<std::size_t>(rows * columns));
  for (T& value : x) value = convert_value<T>(normal(engine));

  const host::BlockRows weight{reinterpret_cast<const std::byte*>(blocks.data()),
                               in_row * std::int64_t{sizeof(Format)}};
  const Sums sums = product<T>(gemv, weight, features, columns, x);
  std::vector<f32> values(static_cast<std::size_t>(columns)), offsets(values.size());
  for (std::int64_t f = 0; f < features; ++f) {
    decode_run<Format>(blocks.data() + f * in_row, 0, columns, values.data());
    if (!offset_blocks.empty())
      decode_run<Format>(offset_blocks.data() + f * in_row, 0, columns, offsets.data());
    for (std::int64_t r = 0; r < rows; ++r) {
      double expected = 0, magnitude = 0;
      for (std::int64_t k = 0; k < columns; ++k) {
        const double factor = convert_value<f32>(x[static_cast<std::size_t>(r * columns + k)]),
                     value = values[static_cast<std::size_t>(k)],
                     offset = offsets[static_cast<std::size_t>(k)];
        expected += factor * value;
        magnitude += std::abs(factor) * (std::abs(value - offset) + std::abs(offset));
      }
      // A term passes fewer additions than there are columns, its scale's product, and two roundings of the
      // values that it is compared with.
      const double bound = static_cast<double>(columns + 3) * 0x1p-24 * magnitude;
      const f32 sum = sums.values[static_cast<std::size_t>(r * features + f)];
      if (!(std::abs(sum - expected) <= bound))
        FAIL(dtype_traits<Format>::name << " with " << dtype_traits<T>::name << ", " << columns
                                        << " columns, row " << r << ", feature " << f << ": " << sum
                                        << " is not " << expected);
    }
  }
  // Each row alone, and two of them, have the same bits.
  for (const std::int64_t some : {1, 2})
    for (std::int64_t r = 0; r + some <= rows; ++r) {
      const Sums few = product<T>(gemv, weight, features, columns,
                                  std::span<const T>(x).subspan(static_cast<std::size_t>(r * columns),
                                                                static_cast<std::size_t>(some * columns)));
      REQUIRE(std::memcmp(few.values.data(), sums.values.data() + r * features,
                          few.values.size() * sizeof(f32)) == 0);
    }
}

/// Whether x in T meets blocks of a format: in f32 always.
template <class Format, class T>
constexpr bool is_multiplied = std::is_same_v<T, f32> || host::detail::ReaderFor<Format>::type::exists;

template <class T>
void check_all() {
  for (const BlockFormat& format : block_formats)
    visit_block_format(format.info.name, [&]<class Format>(std::type_identity<Format>) {
      if constexpr (is_multiplied<Format, T>) {
        constexpr std::int64_t in_block = dtype_traits<Format>::values_per_block;
        if (!block_format_compiled(format.info.name)) return;
        // Less than a run of columns, runs alone, what is left of one, and a row that ends within a block.
        for (const std::int64_t columns :
             {in_block, std::int64_t{256}, std::int64_t{1024}, 256 + 3 * in_block, 512 + in_block - 7})
          check<Format, T>(columns);
      }
    });
  any_scaled_row_dtype([]<class Format>(std::type_identity<Format>) {
    if (is_multiplied<Format, T> && block_format_compiled(dtype_traits<Format>::name))
      for (const std::int64_t columns : {1, 31, 128, 256, 300, 1027}) check<Format, T>(columns);
    return false;
  });
}

/// One value of a block with each scale of a byte, whose product with 1 is the value.
template <class Format>
void check_scales_of_a_byte() {
  if (!block_format_compiled(dtype_traits<Format>::name)) return;
  const auto gemv = host::block_gemv_for<f32>(dtype_traits<Format>::name);
  REQUIRE(gemv.multiply);
  std::vector<f32> x(static_cast<std::size_t>(dtype_traits<Format>::values_per_block), 0.0f);
  x.back() = 1;
  for (int scale = 0; scale < 256; ++scale) {
    Format block{};
    if constexpr (requires { block.scales; })
      std::memset(block.scales, scale, sizeof block.scales);
    else
      std::memset(&block.scale, scale, sizeof block.scale);
    if constexpr (requires { block.low; })
      std::memset(block.low, 0x77, sizeof block.low);
    else
      std::memset(block.codes, 0x31, sizeof block.codes);
    std::vector<f32> values(x.size());
    decode_run<Format>(&block, 0, std::ssize(x), values.data());
    const f32 value = values.back();
    const host::BlockRows weight{reinterpret_cast<const std::byte*>(&block), sizeof block};
    INFO(dtype_traits<Format>::name << ", scale " << scale);
    const f32 sum = product<f32>(gemv, weight, 1, std::ssize(x), x).values[0];
    // Of infinite values those that meet a 0 make NaN, where codes do not meet it.
    const bool any_infinite = !std::ranges::all_of(values, [](f32 each) { return std::isfinite(each); });
    const bool may_be_nan = host::detail::ReaderFor<Format>::type::exists ? std::isnan(value) : any_infinite;
    CHECK((sum == value || (std::isnan(sum) && may_be_nan)));
  }
}

}  // namespace

TEST_CASE("few rows meet the codes of blocks as they lie", "[blocks]") {
  check_all<f32>();
#if defined(__AVX512BF16__)
  check_all<bf16>();
#endif
}

TEST_CASE("few rows take every scale of a byte", "[blocks]") {
  check_scales_of_a_byte<mxfp4>();
  check_scales_of_a_byte<nvfp4>();
  check_scales_of_a_byte<mxfp6_e3m2>();
  check_scales_of_a_byte<mxfp6_e2m3>();
  check_scales_of_a_byte<mxfp8>();
}

TEST_CASE("few rows take every code of 8 bits", "[blocks]") {
  any_scaled_row_dtype([]<class Format>(std::type_identity<Format>) {
    if (!block_format_compiled(dtype_traits<Format>::name)) return false;
    const auto check_in = [&]<class T>(T) {
      if (!is_multiplied<Format, T>) return;
      const auto gemv = host::block_gemv_for<T>(dtype_traits<Format>::name);
      REQUIRE(gemv.multiply);
      std::vector<std::byte> row(row_head_bytes + 1);
      write_row_head(0.37f, 1, row.data());
      const std::vector<T> one{convert_value<T>(1.0f)};
      for (int code = 0; code < 256; ++code) {
        row.back() = static_cast<std::byte>(code);
        f32 value = 0;
        decode_run<Format>(reinterpret_cast<const Format*>(row.data()), 0, 1, &value);
        const f32 sum = product<T>(gemv, {row.data(), std::ssize(row)}, 1, 1, one).values[0];
        INFO(dtype_traits<Format>::name << " with " << dtype_traits<T>::name << ", code " << code);
        CHECK((sum == value || (std::isnan(sum) && std::isnan(value))));
      }
    };
    check_in(f32{});
#if defined(__AVX512BF16__)
    check_in(bf16{});
#endif
    return false;
  });
}

TEST_CASE("a scale that is no number makes no number", "[blocks]") {
  if (!block_format_compiled("q4_0")) return testing::skip("this build leaves out q4_0");
  auto blocks = random_blocks<q4_0>(4, 3);
  blocks[2].scale = 0x7e00;
  const auto gemv = host::block_gemv_for<f32>("q4_0");
  const std::vector<f32> x(128, 1.0f);
  const host::BlockRows weight{reinterpret_cast<const std::byte*>(blocks.data()), 4 * sizeof(q4_0)};
  CHECK(std::isnan(product<f32>(gemv, weight, 1, 128, x).values[0]));
}

TEST_CASE("formats that are not read as they lie have no such product", "[blocks]") {
  CHECK(host::block_gemv_for<f32>("f32").multiply == nullptr);
  CHECK(host::block_gemv_for<f32>("blocks32").multiply == nullptr);
}
