// From what casts cost to a plan: which format each layer gets.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <casting/cost_file.hpp>
#include <casting/cost_measure.hpp>
#include <casting/knapsack.hpp>
#include <casting/plan_file.hpp>

#include <precast/policy/quant_formats.hpp>

namespace precast::casting {

/// Bytes of so many parameters at so many bits, rounded up.
std::int64_t bytes_at(std::int64_t parameters, double bits);

/// A number of bits to four places, rounded up: told so, it is a limit that lets in what takes so many.
double bits_to_show(double bits);

/// What a plan is to keep to: one of the three.
struct PlanRequest {
  std::optional<std::int64_t> budget;  ///< bytes of the planned layers at most
  std::optional<double> bits;          ///< of a parameter at most, on average
  std::optional<double> error;         ///< predicted at most; the plan is then as small as can be
  std::vector<std::string> types;  ///< formats to choose from; empty: all that the file and this build have
  bool (*holds)(std::string_view block_format) = &block_format_compiled;  ///< what this build has
  Measure measure = Measure::cost;
  SearchLimits limits;
};

/// A way to choose formats, and what comes of it.
struct PlannedSize {
  std::string method;  ///< "plan", "greedy", or a format in every layer
  std::int64_t bytes = 0;
  double bits = 0, error = 0;
  bool keeps = true;  ///< whether it keeps to what was asked for
};

/// A plan, and what it is held against.
struct PlanResult {
  Plan plan;
  std::vector<PlannedSize> sizes;     ///< the plan, greedy, then uniform formats by falling bits
  std::vector<std::string> left_out;  ///< formats of the file that this build does not have
  std::int64_t parameters = 0;        ///< of all planned layers
};

/// The plan of the least predicted error (the sum over layers) that keeps to the budget, or the smallest that
/// keeps to the error. Formats that a layer has no finite number for are not chosen for it. `path` is for
/// messages. Throws InputError, which names file, layer and key, where the file lacks what is needed;
/// families::RequestError where a format that was asked for is not in the file, or has no finite number in
/// any layer, or where nothing keeps to what was asked for: it says what the least possible is.
PlanResult make_plan(const CostFile& file, const std::filesystem::path& path, const PlanRequest& request);

/// What a plan that is there already takes and predicts by these costs; `method` is "plan". `plan_path` is
/// for messages. Throws InputError, which names the file and the layer, where a layer of the plan is not in
/// the cost file or its format has no such number there, or no bits.
PlannedSize size_of_plan(const CostFile& file, const Plan& plan, const std::filesystem::path& plan_path,
                         Measure measure);

}  // namespace precast::casting
