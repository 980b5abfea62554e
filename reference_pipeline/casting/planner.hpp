// Makes a plan, which format each layer gets, from the costs of casts.
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

/// Bytes of `parameters` values of `bits` bits each, rounded up.
std::int64_t bytes_at(std::int64_t parameters, double bits);

/// Bits rounded up to four decimal places: as a limit, the result admits what takes `bits`.
double bits_to_show(double bits);

/// A plan's limit, one of the first three, and what it is made from.
struct PlanRequest {
  std::optional<std::int64_t> budget;  ///< bytes of the planned layers at most
  std::optional<double> bits;          ///< per parameter at most, on average
  std::optional<double> error;         ///< predicted error at most; the plan is then the smallest
  std::vector<std::string> types;  ///< formats to choose from; empty: all that the file and this build have
  bool (*holds)(std::string_view block_format) = &block_format_compiled;  ///< whether this build has it
  Measure measure = Measure::cost;
  SearchLimits limits;
};

/// A method of choosing formats, and the size and error of its choice.
struct PlannedSize {
  std::string method;  ///< "plan", "greedy", or a format in every layer
  std::int64_t bytes = 0;
  double bits = 0, error = 0;
  bool keeps = true;  ///< whether it keeps the requested limit
};

/// A plan, and the choices that it is compared with.
struct PlanResult {
  Plan plan;
  std::vector<PlannedSize> sizes;     ///< the plan, greedy, then uniform formats by falling bits
  std::vector<std::string> left_out;  ///< formats of the file that this build does not have
  std::int64_t parameters = 0;        ///< of all planned layers
};

/// The plan of the least predicted error (the sum over layers) that keeps to the budget, or the smallest
/// that keeps to the error. Formats that a layer has no finite number for are not chosen for it. `path` is
/// for messages. Throws InputError, which names file, layer and key, where the file lacks what is needed;
/// families::RequestError where a requested format is not in the file or has no finite number in any layer,
/// or where no choice keeps the limit, in which case it gives the least possible.
PlanResult make_plan(const CostFile& file, const std::filesystem::path& path, const PlanRequest& request);

/// The size and predicted error of an existing plan by these costs; `method` is "plan". `plan_path` is
/// for messages. Throws InputError, which names the file and the layer, where a layer of the plan is not in
/// the cost file or its format has no such number there, or no bits.
PlannedSize size_of_plan(const CostFile& file, const Plan& plan, const std::filesystem::path& plan_path,
                         Measure measure);

}  // namespace precast::casting
