// Measures the error of a planned model, to compare with the sum of single casts that the plan predicts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <casting/measure.hpp>
#include <casting/plan_file.hpp>
#include <families/blocks.hpp>

namespace precast::casting {

/// What a plan does to a model, averaged over samples as measure_cost averages.
struct PlanMeasurement {
  double cost = 0;           ///< mean squared error of all tokens after the last block
  double relative_cost = 0;  ///< cost over the mean square of the uncast state
  double bits = 0;           ///< per parameter of the cast matrices
};

/// Runs the samples through the uncast blocks, then casts every planned matrix, runs them again, and loads
/// the uncast weights. Throws InputError, which names `plan_path`, for a layer that is not in the model;
/// and what running and loading throw.
PlanMeasurement measure_plan(families::Blocks& blocks, std::span<const families::RecordedState> samples,
                             const Plan& plan, const std::string& plan_path, const CostProgress& progress);

}  // namespace precast::casting
