// Checks the importance of columns that encoders are given.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/quant/encode_options.hpp>

namespace precast::quant {

namespace detail {

/// Throws where `encode` cannot use an importance as weights of columns.
inline void check_importance(std::span<const f32> importance, std::size_t values, std::size_t in_block,
                             Encoder encoder) {
  if (importance.empty()) return;
  if (encoder != Encoder::search)
    throw InputError("encode: the reference encoder has no use for an importance: choose the search encoder");
  if (importance.size() % in_block != 0 || values % importance.size() != 0)
    throw ShapeError("encode: an importance of " + std::to_string(importance.size()) + " columns for " +
                     std::to_string(values) + " values in blocks of " + std::to_string(in_block) +
                     ": it needs one number for each column of a row of whole blocks");
  const auto bad =
      std::ranges::find_if_not(importance, [](f32 weight) { return weight >= 0 && weight < HUGE_VALF; });
  if (bad != importance.end())
    throw InputError("encode: the importance of column " + std::to_string(bad - importance.begin()) +
                     " is negative, infinite or NaN: it is a weight of a squared error");
}

}  // namespace detail

}  // namespace precast::quant
