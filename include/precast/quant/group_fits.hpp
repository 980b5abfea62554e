// The searches behind K-quants: which scale, and which least value, fits a group of values. Each is ggml's
// search with its order of operations: sums run from the first value to the last in f32, so lanes are groups,
// never the values of one.
#pragma once

#include <utility>

#include <precast/dtype/host_device.hpp>
#include <precast/quant/line_fits.hpp>
#include <precast/quant/scale_fits.hpp>
#include <precast/quant/side_by_side.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

/// The search `Fit` in `groups` groups of `count` values.
template <class Fit, int count, int groups>
detail::Fits<count, groups> fit_groups(const f32* values) {
  constexpr int lanes = detail::lanes_for<groups>, at_once = min_of(Fit::at_once, groups / lanes);
  detail::Fits<count, groups> fits;
  for (int g = 0; g < groups; g += lanes * at_once) {
    const detail::FitsOut out{fits.scales + g, fits.leasts + g, fits.codes + g, groups};
    if constexpr (Fit::at_once == 1) {
      Fit::fit(detail::SideBySide<count, lanes>(values + g * count), out);
    } else {
      const auto search = [&](int s) {
        return typename Fit::template Search<count, lanes>(values + (g + s * lanes) * count);
      };
      [&]<int... s>(std::integer_sequence<int, s...>) {
        typename Fit::template Search<count, lanes> all[]{search(s)...};
        Fit::fit(all, out);
      }
      (std::make_integer_sequence<int, at_once>{});
    }
  }
  return fits;
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
