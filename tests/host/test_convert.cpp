// Row conversion against convert<>, the definition: every code of the small formats, and for f32 every number
// where a conversion changes its mind.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/host/pointwise/convert_values.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

namespace {

std::uint32_t bits_of(f32 value) { return std::bit_cast<std::uint32_t>(value); }
template <class T>
std::uint32_t bits_of(T value) {
  return value.bits;
}

template <class T>
std::vector<T> every_code() {
  std::vector<T> values;
  for (std::uint64_t code = 0; code < dtype_traits<T>::format.codes(); ++code)
    values.push_back(T{static_cast<decltype(T::bits)>(code)});
  return values;
}

/// The numbers of T, the middles between them, and the f32 on either side of each.
template <class T>
std::vector<f32> decision_points() {
  constexpr FloatFormat format = dtype_traits<T>::format;
  std::vector<f32> values;
  const auto around = [&](double number) {
    const auto value = static_cast<f32>(number);
    for (const f32 x : {value, std::nextafter(value, -INFINITY), std::nextafter(value, INFINITY)}) {
      values.push_back(x);
      values.push_back(-x);
    }
  };
  for (std::uint32_t code = 0; code <= format.max_code(); ++code) {
    around(format.decode(code));
    around(format.decode(code) + format.ulp(format.decode(code)) / 2);
  }
  return values;
}

std::vector<f32> hard_f32() {
  std::vector<f32> values{0.0f,           -0.0f,  INFINITY, -INFINITY,     3.4028235e38f,
                          -3.4028235e38f, 1e-45f, -1e-45f,  1.1754942e-38f};
  for (const std::uint32_t nan :
       {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0x7fa12345u})
    values.push_back(std::bit_cast<f32>(nan));
  std::mt19937 random(1);
  for (int i = 0; i < 300000; ++i) values.push_back(std::bit_cast<f32>(static_cast<std::uint32_t>(random())));
  return values;
}

template <class To, bool Saturates = false, class From>
std::int64_t differences(const std::vector<From>& values) {
  std::vector<To> got(values.size());
  host::convert_row<To, Saturates>(std::span<const From>(values), std::span<To>(got));
  std::int64_t count = 0;
  constexpr double max = dtype_traits<To>::format.max();
  for (std::size_t i = 0; i < values.size(); ++i) {
    To want = convert<To>(values[i]);
    if (Saturates && std::abs(to_double(values[i])) > max)
      want = from_double<To>(to_double(values[i]) > 0 ? max : -max);
    if (Saturates && !std::isnan(to_double(values[i])) && !std::isfinite(to_double(want)))
      want = from_double<To>(to_double(values[i]) > 0 ? max : -max);
    count += bits_of(want) != bits_of(got[i]);
  }
  return count;
}

}  // namespace

TEMPLATE_TEST_CASE("every code of a format converts as convert<> has it", "[convert]", tf32, bf16, f16,
                   fp8_e4m3, fp8_e5m2) {
  const auto codes = every_code<TestType>();
  CHECK(differences<f32>(codes) == 0);
  CHECK(differences<tf32>(codes) == 0);
  CHECK(differences<bf16>(codes) == 0);
  CHECK(differences<f16>(codes) == 0);
  CHECK(differences<fp8_e4m3>(codes) == 0);
  CHECK(differences<fp8_e5m2>(codes) == 0);
  CHECK(differences<f16, true>(codes) == 0);
  CHECK(differences<fp8_e4m3, true>(codes) == 0);
}

TEMPLATE_TEST_CASE("f32 rounds to a format as convert<> has it", "[convert]", f32, bf16, f16, fp8_e4m3,
                   fp8_e5m2) {
  const auto random = hard_f32();
  CHECK(differences<TestType>(random) == 0);
  CHECK(differences<TestType, true>(random) == 0);
  if constexpr (!std::is_same_v<TestType, f32>) {
    const auto points = decision_points<TestType>();
    CHECK(differences<TestType>(points) == 0);
    CHECK(differences<TestType, true>(points) == 0);
  }
}

TEST_CASE("f32 rounds to tf32 as convert<> has it", "[convert]") {
  CHECK(differences<tf32>(hard_f32()) == 0);
  CHECK(differences<tf32>(decision_points<tf32>()) == 0);
}

TEST_CASE("rounding in place is a store and a load", "[convert]") {
  std::vector<f32> values = hard_f32(), rounded = values;
  host::round_row<f16>(std::span<f32>(rounded));
  std::int64_t differ = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    differ += bits_of(convert<f32>(convert<f16>(values[i]))) != bits_of(rounded[i]);
  CHECK(differ == 0);
}

TEST_CASE("whole arrays convert whatever their strides", "[convert]") {
  for (const Shape shape :
       {Shape{0}, Shape{3, 0}, Shape{1}, Shape{7, 5}, Shape{2, 3, 129}, Shape{3, 70001}, Shape{40000, 3}}) {
    Tensor<f32> from(shape);
    for (std::int64_t i = 0; i < from.elements(); ++i)
      from.data()[i] = static_cast<f32>(i % 4096) * 0.37f - 300.0f;
    Tensor<f16> to(shape);
    host::convert_values(from, to.view());
    std::int64_t differ = 0;
    for (std::int64_t i = 0; i < from.elements(); ++i)
      differ += !(to.data()[i] == convert<f16>(from.data()[i]));
    CHECK(differ == 0);
    if (shape.rank() < 2 || shape.back() < 3) continue;
    const std::int64_t columns = shape.back() - 2;
    Tensor<bf16> slice(shape.with_back(columns));
    host::convert_values(from.view().columns_between(1, columns), slice.view());
    for (std::int64_t r = 0; r < from.rows(); ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        differ += !(slice.view().row(r)[c] == convert<bf16>(from.view().row(r)[c + 1]));
    CHECK(differ == 0);
  }
  Tensor<f32> a(Shape{2, 3}), b(Shape{3, 2});
  CHECK_THROWS_WITH(host::convert_values(a, b.view()), "cannot copy [2, 3] into [3, 2]");
}
