// Decoding rows of blocks into operands: the same bits as value by value, for every format and every run.
#include <cstdint>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>
#include <support/random_bytes.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/blocks/block_decoding.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;
using testing::random_bytes;

namespace {

/// The bits, those of every NaN alike: which of two NaN a sum keeps is the compiler's choice.
template <class T>
std::uint32_t code_of(T value) {
  const f32 wide = convert_value<f32>(value);
  if (wide != wide) return 0x7fc00000;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// Compares columns [first, first + columns) of two rows; what lies behind them must stay as it was.
template <class Format, class T>
void check(const std::vector<Format>& blocks, std::int64_t in_row, std::int64_t first, std::int64_t columns) {
  const auto decode = host::rows_decoder<T>(dtype_traits<Format>::name);
  REQUIRE(decode);
  constexpr std::int64_t stride = 1100, rows = 2;
  static std::vector<T> got(rows * stride);
  std::memset(static_cast<void*>(got.data()), 0x55, got.size() * sizeof(T));
  const T untouched = got[0];
  decode(
      {reinterpret_cast<const std::byte*>(blocks.data()), in_row * static_cast<std::int64_t>(sizeof(Format))},
      rows, first, columns, got.data(), stride);
  static std::vector<f32> expected(stride);
  for (std::int64_t r = 0; r < rows; ++r) {
    decode_run<Format>(blocks.data() + r * in_row, first, columns, expected.data());
    for (std::int64_t k = 0; k < columns; ++k) {
      const T value = convert_value<T>(expected[static_cast<std::size_t>(k)]);
      const T is = got[static_cast<std::size_t>(r * stride + k)];
      if (code_of(is) != code_of(value))
        FAIL(dtype_traits<Format>::name << " as " << dtype_traits<T>::name << ", row " << r << ", column "
                                        << first + k << ": " << convert_value<f32>(is) << " is not "
                                        << convert_value<f32>(value));
    }
    for (std::int64_t k = columns; k < stride; ++k)
      if (std::memcmp(&got[static_cast<std::size_t>(r * stride + k)], &untouched, sizeof(T)) != 0)
        FAIL(dtype_traits<Format>::name << ": column " << k << " behind the last was written");
  }
}

template <class Format>
void check_format() {
  constexpr std::int64_t in_block = dtype_traits<Format>::values_per_block, in_row = 1024 / in_block;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const auto blocks = random_bytes<Format>(2 * in_row, seed);
    check<Format, f32>(blocks, in_row, 0, 1024);
    check<Format, bf16>(blocks, in_row, 0, 1024);
    for (const std::int64_t first : {0, 1, 15, 16, 31, 32, 63, 64, 100, 255, 256, 700})
      for (const std::int64_t columns : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 300}) {
        check<Format, f32>(blocks, in_row, first, columns);
        check<Format, bf16>(blocks, in_row, first, columns);
      }
  }
  // Many blocks, as whole rows.
  for (std::uint32_t seed = 100; seed < 400; ++seed) {
    const auto blocks = random_bytes<Format>(2 * in_row, seed);
    check<Format, f32>(blocks, in_row, 0, 1024);
    check<Format, bf16>(blocks, in_row, 0, 1024);
  }
}

template <class... Entries>
void check_all(BlockFormatList<Entries...>) {
  const auto one = []<class Format>(std::type_identity<Format>) {
    if constexpr (block_format_compiled(dtype_traits<Format>::name)) check_format<Format>();
  };
  (one(std::type_identity<typename Entries::format>{}), ...);
}

}  // namespace

TEST_CASE("rows of every block format become operands, bit for bit as value by value", "[blocks]") {
  check_all(BlockFormats{});
}

TEST_CASE("a format that the library does not have has no decoder", "[blocks]") {
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  CHECK(host::block_decoder<Types>({"blocks32", 32, 20}).to_f32 == nullptr);
  CHECK(host::block_decoder<Types>(dtype_info<bf16>).to_f32 == nullptr);
}
