// rank_correlation: Spearman's rank correlation of two lists of numbers.
#pragma once

#include <optional>
#include <span>

namespace precast::casting {

/// 1 where both rise together, -1 where one falls as the other rises; equal numbers share the mean of their
/// ranks. Nothing for fewer than three pairs, and where all numbers of a list are equal. The lists have
/// the same length and no NaN.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace precast::casting
