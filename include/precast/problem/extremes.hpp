// Extremes: what the watch hook reports about an op's result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// The largest finite magnitude of some values, the numbers of NaN and inf, and the first one's index.
struct Extremes {
  f32 max_abs = 0;
  std::int64_t nans = 0, infinities = 0;
  std::int64_t first_non_finite = std::numeric_limits<std::int64_t>::max();  ///< the largest int64: none

  static constexpr f32 largest_finite = std::numeric_limits<f32>::max();

  bool all_finite() const { return nans + infinities == 0; }

  /// The extremes of one value, whose index is `place`.
  PRECAST_HOST_DEVICE static Extremes of(f32 value, std::int64_t place) {
    const f32 magnitude = std::fabs(value);
    if (magnitude <= largest_finite) return {magnitude, 0, 0};
    const bool is_nan = value != value;
    return {0, is_nan ? 1 : 0, is_nan ? 0 : 1, place};
  }
  /// The extremes of two parts together, in any order.
  PRECAST_HOST_DEVICE friend Extremes operator+(const Extremes& a, const Extremes& b) {
    return {a.max_abs > b.max_abs ? a.max_abs : b.max_abs, a.nans + b.nans, a.infinities + b.infinities,
            a.first_non_finite < b.first_non_finite ? a.first_non_finite : b.first_non_finite};
  }
};

/// The extremes of an array that the caller can read, with indices in row-major order.
template <ScalarDtype T>
Extremes extremes_in(View<const T> x) {
  Extremes all;
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t c = 0; c < x.columns(); ++c)
      all = all + Extremes::of(convert_value<f32>(x.data()[r * x.row_stride() + c]), r * x.columns() + c);
  return all;
}

}  // namespace precast
