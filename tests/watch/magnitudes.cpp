// Magnitudes counts values by their powers of two.
#include <array>
#include <limits>

#include <catch2/catch.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/host/reduction/extremes.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/magnitudes.hpp>

using precast::watch::counted_magnitudes;
using precast::watch::CountingMagnitudes;
using precast::watch::Magnitudes;

TEST_CASE("magnitudes: values below a power of two, without zeros, infinities and NaN") {
  Magnitudes some;
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -0.0f, 1.0f, -1.5f, 0.999f, -0x1p-14f, 0x1.ffcp-15f, 0x1p-126f, 0x1p-149f,
                            inf, -inf, std::numeric_limits<float>::quiet_NaN()})
    some.add(value);
  CHECK(some.values() == 7);
  CHECK(some.below_power(1) == 7);
  CHECK(some.below_power(0) == 5);     // 0.999 and smaller
  CHECK(some.below_power(-14) == 3);   // f16's smallest normal is not below itself
  CHECK(some.below_power(-126) == 1);  // f32's subnormals
  CHECK(some.below_power(200) == some.values());
  Magnitudes twice = some;
  twice += some;
  CHECK(twice.below_power(0) == 10);
  CHECK(Magnitudes().values() == 0);
}

TEST_CASE("magnitudes: the watch hook's kernel counts what it looks at, where somebody wants to know") {
  const std::array<precast::f16, 6> values{
      precast::convert<precast::f16>(1.0f),     precast::convert<precast::f16>(-3.0f),
      precast::convert<precast::f16>(0x1p-20f), precast::convert<precast::f16>(0.0f),
      precast::convert<precast::f16>(9e4f),     precast::convert<precast::f16>(0x1p-14f)};
  const precast::HostView<const precast::f16> row(values.data(), precast::Shape{1, 6});
  Magnitudes counted;
  precast::host::extremes_of(row);
  CHECK(counted.values() == 0);
  {
    const CountingMagnitudes counting(counted);
    precast::host::extremes_of(row);
  }
  CHECK(counted.values() == 4);
  CHECK(counted.below_power(-14) == 1);
  precast::host::extremes_of(row);
  CHECK(counted.values() == 4);
}

TEST_CASE("magnitudes: who counts, counts for as long as they live") {
  Magnitudes outer, inner;
  CHECK(counted_magnitudes() == nullptr);
  {
    const CountingMagnitudes counting(outer);
    {
      const CountingMagnitudes nested(inner);
      CHECK(counted_magnitudes() == &inner);
    }
    CHECK(counted_magnitudes() == &outer);
  }
  CHECK(counted_magnitudes() == nullptr);
}
