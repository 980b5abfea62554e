// Casts between all scalar dtypes, and the watch hook's reductions, on this translation unit's backend.
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/backend/convert.hpp>
#include <precast/backend/extremes.hpp>
#include <precast/ops/cast.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Every code of a dtype where it has at most 16 bits, else values of all magnitudes.
template <class T>
HostTensor<T> all_values() {
  std::vector<T> values;
  if constexpr (sizeof(T) <= 2)
    for (std::uint32_t code = 0; code < 1u << (8 * sizeof(T)); ++code)
      values.push_back(T{static_cast<decltype(T::bits)>(code)});
  else
    for (std::uint64_t code = 0; code <= 0xffffffffu; code += 131071)
      if constexpr (std::is_same_v<T, f32>)
        values.push_back(std::bit_cast<f32>(static_cast<std::uint32_t>(code)));
      else
        values.push_back(T{static_cast<std::uint32_t>(code) >> 13});
  return HostTensor<T>(Shape{static_cast<std::int64_t>(values.size())}, std::span<const T>(values));
}

template <class To, bool Saturates, class From>
std::int64_t casts_that_differ() {
  const auto from = all_values<From>();
  Tensor<To> to(from.shape());
  backend::convert_values<To, Saturates>(sent(from), to.view());
  const auto got = wide(to);
  std::int64_t different = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double expected = to_double(convert_value<To, Saturates>(from.values()[i]));
    different += !(got[i] == expected ? std::signbit(got[i]) == std::signbit(expected)
                                      : std::isnan(got[i]) && std::isnan(expected));
  }
  return different;
}

}  // namespace

TEMPLATE_TEST_CASE("casts give the codes of convert<>", "[convert]", f32, tf32, bf16, f16, fp8_e4m3,
                   fp8_e5m2) {
  CHECK(casts_that_differ<f32, false, TestType>() == 0);
  CHECK(casts_that_differ<tf32, false, TestType>() == 0);
  CHECK(casts_that_differ<bf16, false, TestType>() == 0);
  CHECK(casts_that_differ<f16, false, TestType>() == 0);
  CHECK(casts_that_differ<f16, true, TestType>() == 0);
  CHECK(casts_that_differ<fp8_e4m3, false, TestType>() == 0);
  CHECK(casts_that_differ<fp8_e4m3, true, TestType>() == 0);
  CHECK(casts_that_differ<fp8_e5m2, false, TestType>() == 0);
}

TEST_CASE("a cast to its own dtype runs in place", "[convert]") {
  auto values = random_tensor<f16>({3, 37}, 1);
  values.data()[40] = f16{0x7c00};
  Tensor<f16> there = sent(values);
  cast_into<f16>(there.view().columns_between(0, 20), there.view().columns_between(0, 20));
  CHECK(same_bits(there, sent(values)));
  values.data()[40] = convert_value<f16, true>(values.data()[40]);
  cast_into<f16, true>(there, there.view());
  CHECK(same_bits(there, sent(values)));
  CHECK(wide(there)[40] == 65504);
}

TEST_CASE("copies are slices of any shape, and keep the code of a NaN", "[convert]") {
  auto x = random_tensor<bf16>({2, 3, 20}, 1);
  x.data()[0].bits = 0x7fab;
  Tensor<bf16> to({6, 30});
  backend::convert_values(sent(x), to.view().columns_between(4, 20));
  const auto copied = to_host(to);
  for (std::int64_t r = 0; r < 6; ++r)
    for (std::size_t c = 0; c < 20; ++c) CHECK(copied.view().row(r)[c + 4].bits == x.view().row(r)[c].bits);
  CHECK_THROWS_AS(backend::convert_values(sent(x), to.view()), ShapeError);
}

TEMPLATE_TEST_CASE("extremes are the largest finite magnitude and what is not finite", "[extremes]", f32,
                   bf16, f16) {
  auto values = random_tensor<TestType>({5, 40}, 1);
  values.data()[3 * 40 + 7] = from_double<TestType>(-250);
  values.data()[2 * 40 + 11] = from_double<TestType>(HUGE_VAL);
  values.data()[2 * 40 + 30] = from_double<TestType>(-HUGE_VAL);
  values.data()[4 * 40 + 10] = from_double<TestType>(std::nan(""));
  values.data()[0] = from_double<TestType>(HUGE_VAL);  // outside of the slice
  const Tensor<TestType> x = sent(values);
  const View<const TestType> slice = x.view().columns_between(5, 30);
  const Extremes extremes = backend::extremes_of(slice);
  CHECK(extremes.max_abs == 250);
  CHECK(extremes.infinities == 2);
  CHECK(extremes.nans == 1);
  CHECK(extremes.first_non_finite == 2 * 30 + 6);
  CHECK(backend::extremes_of(slice.rows_between(0, 2)).all_finite());
  CHECK(backend::extremes_of(slice.rows_between(0, 0)).max_abs == 0);
}

TEST_CASE("rows that go backwards are read and written", "[cast]") {
  const auto x = random_tensor<f32>({5, 37}, 1);
  const auto there = sent(x);
  const View<const f32> backwards(there.data() + 4 * 37, {5, 37}, -37);
  const auto read = to_host(cast<f16>(backwards));
  Tensor<f16> out(Shape{5, 40});
  cast_into<f16>(there, View<f16>(out.data() + 4 * 40, {5, 37}, -40));
  const auto written = to_host(out), expected = to_host(cast<f16>(there));
  for (std::int64_t r = 0; r < 5; ++r)
    for (std::size_t c = 0; c < 37; ++c) {
      CHECK(read.view().row(4 - r)[c] == expected.view().row(r)[c]);
      CHECK(written.view().row(4 - r)[c] == expected.view().row(r)[c]);
    }
}
