// The largest values by layer as a picture of lines, in SVG.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cli/compare/comparison.hpp>

namespace precast::cli {

/// A layer with its largest value under each policy; a negative value where a policy did not run it.
struct LayerRow {
  std::string name;
  std::vector<double> max_abs;
  std::vector<std::int64_t> non_finite;

  /// Whether a policy has a largest value here: it ran the layer, and not all was inf, NaN or zero beside
  /// such.
  bool has_value(std::size_t policy) const {
    return max_abs[policy] > 0 || (max_abs[policy] == 0 && non_finite[policy] == 0);
  }
};

/// The layers of all policies, in the order of the first.
std::vector<LayerRow> layer_rows(std::span<const Compared> rows);

/// A line with marks for each policy: layers to the right, powers of ten upwards, with the largest number of
/// f16. What is not finite is marked at the top. A layer's values are shown where a pointer rests on it.
std::string report_plot(std::span<const Compared> rows, std::span<const LayerRow> layers);

}  // namespace precast::cli
