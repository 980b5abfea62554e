// Formats by name give the bytes and values of the formats by type.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <quant/generated_values.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/policy/quant_formats.hpp>
#include <precast/quant/by_name.hpp>

using namespace precast;
using precast::testing::generated_values;

TEST_CASE("a format by name is the format by type", "[quant]") {
  const std::vector<f32> values = generated_values(16 * 1024);
  for (const BlockFormat& format : block_formats) {
    if (!block_format_compiled(format.info.name)) continue;
    INFO(format.info.name);
    std::vector<std::byte> bytes(values.size() / static_cast<std::size_t>(format.info.values_per_block) *
                                 static_cast<std::size_t>(format.info.bytes_per_block));
    quant::encode(format.info.name, values, bytes);
    std::vector<f32> back(values.size());
    quant::decode(format.info.name, bytes, back);
    // A file may put blocks at any address.
    std::vector<std::byte> moved(bytes.size() + 1);
    quant::encode(format.info.name, values, std::span(moved).subspan(1));
    CHECK(std::memcmp(moved.data() + 1, bytes.data(), bytes.size()) == 0);
    std::vector<f32> from_moved(values.size());
    quant::decode(format.info.name, std::span(moved).subspan(1), from_moved);
    CHECK(std::memcmp(from_moved.data(), back.data(), back.size() * sizeof(f32)) == 0);
    CHECK(visit_block_format(format.info.name, [&]<class Format>(std::type_identity<Format>) {
      std::vector<Format> blocks(values.size() / dtype_traits<Format>::values_per_block);
      quant::encode<Format>(values, std::span(blocks));
      CHECK(std::memcmp(blocks.data(), bytes.data(), bytes.size()) == 0);
      std::vector<f32> by_type(values.size());
      decode_run<Format>(blocks.data(), 0, static_cast<std::int64_t>(values.size()), by_type.data());
      // But for the sign of NaN, which compilers choose.
      CHECK(std::ranges::equal(by_type, back, [](f32 a, f32 b) {
        return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
      }));
    }));
  }
}

TEST_CASE("a format by name refuses other names and sizes", "[quant]") {
  const std::vector<f32> values(64, 1.0f);
  std::vector<std::byte> bytes(37);
  CHECK_THROWS_WITH(quant::encode("q4_9", values, bytes), "no block format is called q4_9");
  CHECK_THROWS_AS(quant::encode("q4_0", values, bytes), ShapeError);
  CHECK_THROWS_AS(quant::encode("q4_0", std::span(values).first(63), std::span(bytes).first(36)), ShapeError);
  CHECK_NOTHROW(quant::encode("q4_0", values, std::span(bytes).first(36)));
  CHECK_THROWS_AS(quant::decode("q4_0", bytes, std::span<f32>{}), ShapeError);
  CHECK_THROWS_WITH(quant::decode("q4_9", bytes, std::span<f32>{}), "no block format is called q4_9");
  CHECK(quant::encoder_named("reference") == quant::Encoder::reference);
  CHECK_FALSE(quant::encoder_named("best"));
}
