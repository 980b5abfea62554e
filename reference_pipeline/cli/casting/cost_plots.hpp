// Plots of casting costs, as lines and bars, in SVG.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <casting/plan_file.hpp>
#include <casting/planner.hpp>

namespace precast::cli {

/// "q8_0 8.5" with mark and colour for each format of a file, in order of decreasing bits. A format's
/// position gives its colour in all plots.
std::string types_legend(const casting::CostFile& file);

/// A measure by layer, one line with marks for each format: layers on the x axis, a
/// logarithmic y axis. Non-finite values are crosses at the top, missing values gaps.
/// Hovering over a layer shows its values. "" if the file has no value of the
/// measure.
std::string measure_plot(const casting::CostFile& file, casting::Measure measure);

/// Predicted errors (y axis) over bits per parameter (x axis): a line through `plans`, and a mark with a
/// label for each of `sizes`; rings for those whose method is not a format of the file.
std::string size_plot(const casting::CostFile& file, std::span<const casting::PlannedSize> plans,
                      std::span<const casting::PlannedSize> sizes);

/// The layers of a plan side by side, as wide as their parameters, in the colours of their formats.
std::string plan_bar(const casting::CostFile& file, const casting::Plan& plan);

}  // namespace precast::cli
