// Every block format against ggml's C reference (mxfp8 and mxfp6: OCP's specification), to the last bit. This
// program is compiled with contraction on, which encoders must take back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <quant/generated_values.hpp>
#include <support/golden.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/encode.hpp>

using namespace precast;
using precast::testing::generated_values;
using precast::testing::hash_of_words;
using precast::testing::splitmix;

namespace {

using AllFormats = std::tuple<q8_0, mxfp8, q6_k, mxfp6_e3m2, mxfp6_e2m3, q5_1, q5_0, q5_k, q4_1, q4_0, q4_k,
                              iq4_nl, nvfp4, iq4_xs, mxfp4, q3_k, q2_k>;
static_assert(std::tuple_size_v<AllFormats> == BlockFormats::size);

const testing::Golden& blocks_golden() {
  static const testing::Golden file("block_formats");
  return file;
}

template <class Format>
std::string hash_in_golden(const char* what) {
  static const auto hashes = blocks_golden().fact("hashes");
  return hashes.at(std::string(dtype_traits<Format>::name)).at(what).template get<std::string>();
}

template <class Format>
std::vector<Format> encoded(std::span<const f32> values) {
  std::vector<Format> blocks(values.size() / dtype_traits<Format>::values_per_block);
  quant::encode<Format>(values, blocks);
  return blocks;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the encoders write the reference's bytes at edges", "[quant]", AllFormats) {
  const HostTensor<f32> input = blocks_golden().tensor("input");
  const std::vector<std::uint8_t> expected =
      blocks_golden().bytes(std::string(dtype_traits<TestType>::name) + ".blocks");
  const std::vector<TestType> blocks =
      encoded<TestType>({input.data(), static_cast<std::size_t>(input.elements())});
  REQUIRE(expected.size() == blocks.size() * sizeof(TestType));
  std::vector<std::size_t> wrong;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (std::memcmp(&blocks[b], expected.data() + b * sizeof(TestType), sizeof(TestType)) != 0)
      wrong.push_back(b);
  CHECK(wrong == std::vector<std::size_t>{});
}

TEMPLATE_LIST_TEST_CASE("the encoders write the reference's bytes for a quarter of a million values",
                        "[quant]", AllFormats) {
  const std::vector<f32> values = generated_values(1024 * 256);
  const std::vector<TestType> blocks = encoded<TestType>(values);
  CHECK(hash_of_words(std::as_bytes(std::span(blocks))) == hash_in_golden<TestType>("encoded"));
  const int before = host::threads();
  host::set_threads(3);
  const std::vector<TestType> again = encoded<TestType>(values);
  host::set_threads(before);
  CHECK(std::memcmp(blocks.data(), again.data(), blocks.size() * sizeof(TestType)) == 0);
}

TEMPLATE_LIST_TEST_CASE("any bytes decode to the reference's values", "[quant]", AllFormats) {
  constexpr std::size_t count = 1024 * 64;
  std::vector<TestType> blocks(count / dtype_traits<TestType>::values_per_block);
  std::vector<std::uint64_t> words(blocks.size() * sizeof(TestType) / 8 + 1);
  // The words' halves of 32 bits follow each other as they lie in memory.
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = splitmix(3, i);
  std::memcpy(static_cast<void*>(blocks.data()), words.data(), blocks.size() * sizeof(TestType));
  std::vector<f32> values(count);
  decode_run<TestType>(blocks.data(), 0, count, values.data());
  for (f32& value : values)
    if (value != value) value = bit_cast<f32>(std::uint32_t{0x7fc00000});
  CHECK(hash_of_words(std::as_bytes(std::span(values))) == hash_in_golden<TestType>("decoded"));
}

#if defined(__FMA__) && defined(__GNUC__) && !defined(__clang__)
TEST_CASE("this program's own arithmetic is fused, so the tests above would see it in an encoder",
          "[quant]") {
  volatile f32 a = 1 + 0x1p-12f, b = -1 - 0x1p-11f;
  const f32 x = a, shift = b;
  const f32 once = x * x + shift;  // 2^-24 as one operation, 0 as two
  CHECK(once == 0x1p-24f);
}
#endif

TEMPLATE_LIST_TEST_CASE("what no block can hold is refused, and what fits badly is defined", "[quant]",
                        AllFormats) {
  constexpr std::size_t in_block = dtype_traits<TestType>::values_per_block;
  std::vector<f32> values(3 * in_block, 0.5f);
  std::vector<TestType> blocks(3);
  const auto encode = [&] { quant::encode<TestType>(values, std::span(blocks)); };
  for (const f32 bad : {HUGE_VALF, -HUGE_VALF, std::numeric_limits<f32>::quiet_NaN()}) {
    values[2 * in_block - 1] = bad;
    CHECK_THROWS_WITH(encode(),
                      Catch::Contains("value " + std::to_string(2 * in_block - 1) + " is infinite or NaN"));
  }
  values[2 * in_block - 1] = 0;
  CHECK_NOTHROW(encode());
  CHECK_THROWS_AS(quant::encode<TestType>(std::span(values).first(in_block + 1), std::span(blocks)),
                  ShapeError);
  CHECK_THROWS_AS(quant::encode<TestType>(std::span(values).first(in_block), std::span(blocks)), ShapeError);
  CHECK_NOTHROW(quant::encode<TestType>(std::span<const f32>{}, std::span<TestType>{}));

  // Subnormal values, whose scale's reciprocal overflows, and the least of all: zeros come back, never NaN.
  for (const f32 tiny : {1e-39f, std::numeric_limits<f32>::denorm_min()}) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? -tiny : tiny;
    encode();
    std::vector<f32> back(values.size());
    decode_run<TestType>(blocks.data(), 0, static_cast<std::int64_t>(back.size()), back.data());
    CHECK(std::ranges::all_of(back, [&](f32 value) { return std::fabs(value) <= 2e-38f; }));
  }
}

TEMPLATE_LIST_TEST_CASE("what is decoded is near to what was encoded", "[quant]", AllFormats) {
  std::vector<f32> values(64 * 256);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<f32>(static_cast<std::int64_t>(splitmix(9, i) >> 40) - (1 << 23)) * 0x1p-23f;
  const std::vector<TestType> blocks = encoded<TestType>(values);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    f32 value = 0;
    decode_run<TestType>(blocks.data(), static_cast<std::int64_t>(i), 1, &value);
    const double off = static_cast<double>(value) - static_cast<double>(values[i]);
    error += off * off, size += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  // Values spread evenly over [-1, 1] in steps of 2 / (2^bits - 1), or of e4m3's and e2m1's widest gaps (an
  // eighth and a half of the value, below a scale that may be a power of two too small).
  constexpr double bits = 8.0 * sizeof(TestType) / dtype_traits<TestType>::values_per_block;
  const double step = 2 / (std::exp2(std::floor(bits)) - 1);
  const bool is_float = dtype_traits<TestType>::name.find("fp") != std::string_view::npos;
  CHECK(error / size < (is_float ? 1 : 4) * (is_float ? (bits > 8 ? 1.0 / 256 : 1.0 / 16) : step * step / 4));
}
