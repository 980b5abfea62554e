// The linear relaxation of the multiple-choice knapsack: mixtures of alternatives along convex hulls.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <casting/knapsack.hpp>

namespace precast::casting {

/// Holds any product or quotient of two doubles: an error of 1e-320 over a size is 0 in double,
/// and one of 1e300 times a size is inf.
using WideRange = long double;

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
  double weight = 0;   ///< that the step adds
  double value = 0;    ///< that the step saves
};

/// The relaxation of some of the groups.
class Relaxation {
 public:
  /// `fronts` are the undominated alternatives of each group, `order` the groups to relax.
  Relaxation(const std::vector<std::vector<Undominated>>& fronts, std::span<const std::size_t> order);

  /// Leaves one of its groups out: becomes the relaxation of the others, which are `order`, without sorting
  /// the steps again.
  void leave_out(std::size_t group, const std::vector<std::vector<Undominated>>& fronts,
                 std::span<const std::size_t> order);

  double least_weight() const { return base_weight_; }

  /// The number of whole steps, the best first, that fit within a limit, which is at least least_weight().
  std::size_t whole_steps(double limit) const;
  /// The value after the first `steps` steps: that of an actual choice, not of a mixture.
  double value_after(std::size_t steps) const { return least_value_ + to_save_[steps]; }
  double weight_after(std::size_t steps) const { return base_weight_ + added_[steps]; }
  /// The value after `whole` steps and the part of the next that fits within the limit: no choice has less.
  double bound(double limit, std::size_t whole) const;
  /// The value that step `whole` saves per unit of weight; 0 where every step is taken.
  WideRange slope(std::size_t whole) const;

  std::span<const HullStep> steps() const { return steps_; }

 private:
  /// Computes the sums of the sorted steps.
  void add_up(const std::vector<std::vector<Undominated>>& fronts, std::span<const std::size_t> order);

  double base_weight_ = 0;
  double least_value_ = 0;  ///< after all steps
  std::vector<HullStep> steps_;
  std::vector<double> added_;  ///< total weight of the steps before each
  /// Total value of the steps from each on. It is not the sum of all less those before: there, a value of
  /// 1e20 would cancel the others.
  std::vector<double> to_save_;
};

}  // namespace precast::casting
