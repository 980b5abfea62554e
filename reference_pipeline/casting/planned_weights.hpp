// The change that a plan makes to a model's weights.
#pragma once

#include <string>
#include <utility>

#include <casting/plan_source.hpp>
#include <families/changed_weights.hpp>

namespace precast::casting {

/// Planned matrices are cast as they are loaded.
class PlannedWeights final : public families::WeightsChange {
 public:
  /// `path` is the plan's, for messages.
  PlannedWeights(Plan plan, std::string path) : plan_(std::move(plan)), path_(std::move(path)) {}

  std::unique_ptr<nn::ParameterSource> change(const nn::ParameterSource& weights) const override {
    return std::make_unique<PlanSource>(weights, plan_);
  }
  /// Throws InputError where the model has no matrix of a planned layer.
  void loaded(const nn::ParameterSource& changed) const override {
    dynamic_cast<const PlanSource&>(changed).check_all_found(path_);
  }

 private:
  Plan plan_;
  std::string path_;
};

}  // namespace precast::casting
