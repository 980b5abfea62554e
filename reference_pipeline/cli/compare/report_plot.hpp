// The largest values by layer, as an SVG line plot.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cli/compare/comparison.hpp>

namespace precast::cli {

/// A layer and its largest value under each policy; negative where a policy did not run the layer.
struct LayerRow {
  std::string name;
  std::vector<double> max_abs;
  std::vector<std::int64_t> non_finite;

  /// Whether a policy has a finite largest value here: it ran the layer, and not every value was inf, NaN
  /// or, beside those, zero.
  bool has_value(std::size_t policy) const {
    return max_abs[policy] > 0 || (max_abs[policy] == 0 && non_finite[policy] == 0);
  }
};

/// The layers of all policies, in the order of the first.
std::vector<LayerRow> layer_rows(std::span<const Compared> rows);

/// A line with marks for each policy: layers on the x axis, a logarithmic y axis, with f16's largest number
/// as a limit. Non-finite values are marked at the top. Hovering over a layer shows its values.
std::string report_plot(std::span<const Compared> rows, std::span<const LayerRow> layers);

}  // namespace precast::cli
