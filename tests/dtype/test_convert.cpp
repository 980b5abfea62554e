// convert<To>: all pairs of formats over all codes, its fast paths, and the processor's own casts.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <catch2/catch.hpp>
#include <dtype/all_formats.hpp>

#include <precast/dtype/convert_value.hpp>

using namespace precast;

namespace {

/// Without mantissa bits the exponent's last bit says which of two neighbours is even.
struct OnlyExponent {
  std::uint8_t bits = 0;
};
/// f16 without infinity and NaN, whose codes are numbers.
struct AllNumbers {
  std::uint16_t bits = 0;
};
/// Three bytes a value.
struct [[gnu::packed]] ThreeBytes {
  std::uint32_t bits : 24 = 0;
};

}  // namespace

template <>
struct precast::dtype_traits<OnlyExponent> {
  static constexpr std::string_view name = "e3m0";
  static constexpr int values_per_block = 1, bytes_per_block = 1;
  static constexpr FloatFormat format{3, 0, Specials::none};
};
template <>
struct precast::dtype_traits<AllNumbers> {
  static constexpr std::string_view name = "e5m10_numbers";
  static constexpr int values_per_block = 1, bytes_per_block = 2;
  static constexpr FloatFormat format{5, 10, Specials::none};
};
template <>
struct precast::dtype_traits<ThreeBytes> {
  static constexpr std::string_view name = "e8m15";
  static constexpr int values_per_block = 1, bytes_per_block = 3;
  static constexpr FloatFormat format{8, 15};
};

namespace {

template <class T>
bool is_nan(T value) {
  return std::isnan(to_double(value));
}

/// Doubles of every exponent, subnormals included, with random mantissas.
template <class Visitor>
void for_random_doubles(Visitor&& visitor) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    // Every other one lies where floats live.
    const std::uint64_t word = random();
    const std::uint64_t exponent = i & 1 ? 1023 - 160 + (word >> 52) % 300 : (word >> 52) & 0x7ff;
    visitor(std::bit_cast<double>((word & 0x800f'ffff'ffff'ffffu) | (exponent << 52)));
  }
}

}  // namespace

TEST_CASE("convert rounds once, for all pairs and all codes, and widens exactly where it can") {
  for_each_scalar([]<class From>() {
    for_each_scalar([]<class To>() {
      std::int64_t wrong = 0, changed = 0;
      for_each_code<From>([&](std::uint32_t code) {
        const From value = value_of<From>(code);
        const To converted = convert<To>(value);
        if (is_nan(value)) {
          wrong += !is_nan(converted);
          return;
        }
        wrong += code_of(converted) != code_of(from_double<To>(to_double(value)));
        changed += !same_number(to_double(converted), to_double(value));
      });
      INFO(dtype_traits<From>::name << " to " << dtype_traits<To>::name);
      CHECK(wrong == 0);
      CHECK((changed == 0) == widens_exactly<To, From>);
    });
  });
}

TEST_CASE("a format without mantissa bits rounds ties to the even code") {
  CHECK(to_double(from_double<OnlyExponent>(1.5)) == 2);  // codes 3 and 4
  CHECK(to_double(from_double<OnlyExponent>(3)) == 2);    // codes 4 and 5
  CHECK(to_double(from_double<OnlyExponent>(3.01)) == 4);
  CHECK(to_double(from_double<OnlyExponent>(0.125)) == 0);  // codes 0 and 1
  CHECK(to_double(from_double<OnlyExponent>(1000)) == 16);
  for (f32 value = -40; value <= 40; value += 0.03125f)
    CHECK(convert_value<OnlyExponent>(value).bits == convert<OnlyExponent>(value).bits);
}

TEST_CASE("a format without infinity and NaN does not hold those of a narrower one") {
  static_assert(widens_exactly<f32, AllNumbers> && widens_exactly<AllNumbers, OnlyExponent>);
  static_assert(!widens_exactly<AllNumbers, f16> && !widens_exactly<AllNumbers, fp8_e4m3>);
  static_assert(!widens_exactly<f16, AllNumbers>);
  CHECK(to_double(convert<AllNumbers>(std::numeric_limits<f32>::infinity())) == 131008);
}

TEST_CASE("a dtype of three bytes is converted like any other") {
  static_assert(sizeof(ThreeBytes) == 3);
  std::mt19937 random(1);
  int wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<f32>(static_cast<std::uint32_t>(random()));
    const ThreeBytes narrow = convert_value<ThreeBytes>(value);
    wrong += narrow.bits != convert<ThreeBytes>(value).bits;
    wrong += !std::isnan(value) && convert_value<f32>(narrow) != convert<f32>(narrow);
  }
  CHECK(wrong == 0);
}

TEST_CASE("a signalling NaN becomes a NaN, not an infinity, on every way down") {
  const f32 signalling = std::bit_cast<f32>(0x7f800001u);
  CHECK(is_nan(convert<bf16>(signalling)));
  CHECK(is_nan(convert<f16>(signalling)));
  CHECK(is_nan(convert<tf32>(signalling)));
  CHECK(is_nan(convert<fp8_e4m3>(signalling)));
  CHECK(is_nan(convert<fp8_e5m2>(signalling)));
}

TEST_CASE("binary32 rounds as the processor does") {
  constexpr FloatFormat format = dtype_traits<f32>::format;
  std::int64_t wrong = 0, finite = 0;
  for_random_doubles([&](double value) {
    const auto cast = static_cast<float>(value);
    const auto code = format.encode(value);
    if (std::isnan(value))
      wrong += format.kind(code) != ValueKind::nan;
    else
      wrong += code != std::bit_cast<std::uint32_t>(cast);
    finite += std::isfinite(cast) && cast != 0;
  });
  CHECK(wrong == 0);
  CHECK(finite > 300'000);
}

#if defined(__FLT16_MAX__)
TEST_CASE("binary16 rounds as the compiler's own half does") {
  std::int64_t wrong = 0;
  const auto check = [&](auto value) {
    const auto theirs = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
    const f16 ours = from_double<f16>(static_cast<double>(value));
    wrong += std::isnan(value) ? !is_nan(ours) : ours.bits != theirs;
  };
  for_random_doubles([&](double value) { check(static_cast<float>(value)); });
  for_each_code<f32>([&](std::uint32_t code) { check(std::bit_cast<float>(code)); });
  for_random_doubles(check);
  CHECK(wrong == 0);
}
#endif

TEST_CASE("conversions are constant expressions") {
  static_assert(convert<bf16>(1.0f).bits == 0x3f80 && convert<f32>(bf16{0x4049}) == 3.140625f);
  static_assert(convert<f16>(65520.0f).bits == 0x7c00 && convert<fp8_e4m3>(f16{0x5f40}).bits == 0x7e);
  static_assert(convert<tf32>(1.0f).bits == 0x3f800000u >> 13 &&
                convert<f32>(tf32{0x3f800000u >> 13}) == 1.0f);
  SUCCEED();
}
