// The linear relaxation of the multiple-choice knapsack: mixtures of alternatives along convex hulls.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <casting/knapsack.hpp>

namespace precast::casting {

/// An alternative that no other one of its group beats in both weight and value.
struct Undominated {
  std::size_t place = 0;  ///< in its group
  double weight = 0, value = 0;
};

/// A group's alternatives that are not dominated, by rising weight and falling value.
std::vector<Undominated> undominated(std::span<const Alternative> group);

/// A step along a group's convex hull: from one alternative to a heavier one of less value.
struct HullStep {
  std::size_t group = 0;
  std::size_t to = 0;  ///< place among the group's undominated ones
  double weight = 0;   ///< that it adds
  double value = 0;    ///< that it saves
};

/// The relaxation of some of the groups.
class Relaxation {
 public:
  /// `fronts` are the undominated alternatives of each group, `order` the groups that count.
  Relaxation(const std::vector<std::vector<Undominated>>& fronts, std::span<const std::size_t> order);

  double least_weight() const { return base_weight_; }

  /// Whole steps, the best ones first, that a limit has room for; the limit is at least least_weight().
  std::size_t whole_steps(double limit) const;
  /// The value after so many steps: of a choice that there is.
  double value_after(std::size_t steps) const { return base_value_ - saved_[steps]; }
  double weight_after(std::size_t steps) const { return base_weight_ + added_[steps]; }
  /// The value with the part of the next step that the limit has room for: no choice has less.
  double bound(double limit, std::size_t whole) const;
  /// Value saved for each unit of weight at that place; 0 where every step is taken.
  double slope(std::size_t whole) const;

  std::span<const HullStep> steps() const { return steps_; }

 private:
  double base_weight_ = 0, base_value_ = 0;
  std::vector<HullStep> steps_;
  std::vector<double> added_{0}, saved_{0};  ///< sums of the steps before each
};

}  // namespace precast::casting
