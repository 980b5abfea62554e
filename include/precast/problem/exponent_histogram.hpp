// ExponentHistogram: the magnitudes of values as counts by power of two; and the declaration of the kernel
// that counts, for either backend.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <precast/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// Counts of values by power of two: counts[i] is the number with |x| in [2^(i-160), 2^(i-159)), which
/// covers every nonzero f32. Zeros are counted apart.
struct ExponentHistogram {
  static constexpr int lowest = -160, powers = 320;
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(powers);
  std::int64_t zeros = 0, non_finite = 0;

  void add(f32 value) {
    if (value == 0)
      ++zeros;
    else if (!std::isfinite(value))
      ++non_finite;
    else
      ++counts[static_cast<std::size_t>(std::ilogb(value) - lowest)];
  }
};

}  // namespace precast

namespace precast::PRECAST_KERNELS {

template <ScalarDtype T>
void count_exponents(View<const T> values, ExponentHistogram& counts PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
