// rank_correlation: how far two lists of numbers put the same things in the same order (Spearman's).
#pragma once

#include <optional>
#include <span>

namespace precast::casting {

/// 1 where both rise together, -1 where one falls as the other rises; equal numbers share the mean of their
/// ranks. Nothing for fewer than three pairs, and where all numbers of a list are equal. The lists are of one
/// length, of numbers that are not NaN.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace precast::casting
