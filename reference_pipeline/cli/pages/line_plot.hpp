// Line plots over two axes, in SVG.
#pragma once

#include <string>

#include <plots/plot.hpp>

namespace precast::cli {

/// A plot's lines with marks, its axes with labels, and its `places` as dashed vertical lines. Infinite
/// values are crosses at the top, NaN gaps. `id` is the SVG element's id.
std::string line_plot(const std::string& id, const plots::Plot& plot);

/// The mark and the name of each line, as a legend beside the plot.
std::string line_legend(const plots::Plot& plot);

}  // namespace precast::cli
