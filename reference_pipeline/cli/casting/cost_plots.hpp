// What casting costs, as pictures of lines and bars, in SVG.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <casting/plan_file.hpp>
#include <casting/planner.hpp>

namespace precast::cli {

/// "q8_0 8.5" with its mark and colour, for each format of a file by falling bits. Where it stands gives a
/// format its colour in all plots.
std::string types_legend(const casting::CostFile& file);

/// A measure by layer, a line with marks for each format: layers to the right, powers of ten upwards. What is
/// not finite is a cross at the top, what is not known a gap. A layer's numbers are shown where a pointer
/// rests on it.
/// "" where the file has no such number.
std::string measure_plot(const casting::CostFile& file, casting::Measure measure);

/// Bits a parameter to the right, predicted errors upwards: a line through `plans`, and a mark with its name
/// for each of `sizes`; those whose method is no format of the file are drawn as rings.
std::string size_plot(const casting::CostFile& file, std::span<const casting::PlannedSize> plans,
                      std::span<const casting::PlannedSize> sizes);

/// The layers of a plan side by side, as wide as their parameters, in the colours of their formats.
std::string plan_bar(const casting::CostFile& file, const casting::Plan& plan);

}  // namespace precast::cli
