// The multiple-choice knapsack: one alternative of each group, so that their weights stay under a limit and
// the sum of their values is minimal.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace precast::casting {

/// One alternative of a group: what it takes of the limit, and what it adds to the sum. Neither is negative.
struct Alternative {
  double weight = 0, value = 0;
};

using Groups = std::vector<std::vector<Alternative>>;

/// Limits at which the search ends early.
struct SearchLimits {
  double seconds = 60;           ///< of elapsed time
  std::size_t states = 200'000;  ///< partial choices that are kept at a time
  std::function<void()> poll{};  ///< called for each group; may throw to stop
};

/// A choice of alternatives.
struct KnapsackChoice {
  std::vector<std::size_t> chosen;  ///< an alternative of each group
  double weight = 0, value = 0;     ///< sums, in the order of the groups
  double bound = 0;                 ///< no choice within the limit has a smaller value
};

/// The least weight of any choice: the sum of each group's lightest alternative.
double least_weight(const Groups& groups);

/// The choice of the least value among those of a weight of at most `limit`, exact but for relative
/// rounding errors of 1e-12 in sums: `bound` equals `value` then. Where the search ends early, `bound` is
/// below `value`. Nothing where even the lightest alternatives weigh more. Each group must have an
/// alternative; all numbers must be finite.
std::optional<KnapsackChoice> solve_knapsack(const Groups& groups, double limit,
                                             const SearchLimits& limits = {});

/// The usual greedy choice, for comparison: it begins with the alternatives of the least value, and takes
/// the step to a lighter one that adds the least value for the weight that it saves, again and again, until
/// the weight is at most `limit`. Nothing where it never is.
std::optional<KnapsackChoice> greedy_choice(const Groups& groups, double limit);

/// The greedy choice that takes steps for as long as the value stays at most `most_value`. Nothing where
/// even the alternatives of the least values are above it.
std::optional<KnapsackChoice> greedy_within_value(const Groups& groups, double most_value);

}  // namespace precast::casting
