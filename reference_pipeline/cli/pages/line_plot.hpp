// Lines over two axes, in SVG.
#pragma once

#include <string>

#include <plots/plot.hpp>

namespace precast::cli {

/// The lines of a plot with marks, its axes with their names, and its places as broken lines from top to
/// bottom. What is infinite is a cross at the top, NaN a gap. `id` is the SVG's.
std::string line_plot(const std::string& id, const plots::Plot& plot);

/// Each line's mark with its name, for beside the plot.
std::string line_legend(const plots::Plot& plot);

}  // namespace precast::cli
