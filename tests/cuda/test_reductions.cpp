// What the watch hook asks of a device's arrays.
#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/cuda/reduction/extremes.hpp>
#include <precast/cuda/runtime/device_memory.hpp>

using namespace precast;
using namespace precast::testing;

TEMPLATE_TEST_CASE("extremes are the largest finite magnitude and what is not finite", "[reduction]", f32,
                   bf16, f16) {
  HostTensor<TestType> host = random_tensor<TestType>(Shape{5, 40}, 1);
  host.data()[3 * 40 + 7] = from_double<TestType>(-250);
  host.data()[2 * 40 + 11] = from_double<TestType>(HUGE_VAL);
  host.data()[2 * 40 + 30] = from_double<TestType>(-HUGE_VAL);
  host.data()[4 * 40 + 10] = from_double<TestType>(std::nan(""));
  host.data()[0] = from_double<TestType>(HUGE_VAL);  // outside of the slice
  const Tensor<TestType, cuda::Memory> x(host.shape(), host.values());
  const View<const TestType> slice = x.view().columns_between(5, 30);
  const Extremes extremes = cuda::extremes_of(slice);
  CHECK(extremes.max_abs == 250);
  CHECK(extremes.infinities == 2);
  CHECK(extremes.nans == 1);
  CHECK(extremes.first_non_finite == 2 * 30 + 6);
  CHECK(cuda::extremes_of(slice.rows_between(0, 2)).all_finite());
  CHECK(cuda::extremes_of(slice.rows_between(0, 0)).max_abs == 0);
}
