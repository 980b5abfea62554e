// The classes that a cross entropy and its gradient are told.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/error.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

/// The class of each row, as an array of the host's of std::int32_t or std::int64_t.
template <class T>
concept ClassNumbers = std::convertible_to<const T&, std::span<const std::int32_t>> ||
    std::convertible_to<const T&, std::span<const std::int64_t>>;

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;  ///< rows of this target count neither in the sum nor in the mean
};

namespace detail {

/// The targets of rows as kernels take them, `no_target` for what is ignored. Throws where one is no class.
template <ClassNumbers T>
std::vector<std::int32_t> targets_of_rows(std::string_view op, const Shape& logits, const T& given,
                                          std::int64_t ignore_index) {
  const std::span targets(given);
  const auto rows = static_cast<std::int64_t>(targets.size());
  if (logits.rank() != 2 || logits[0] != rows)
    throw ShapeError(std::string(op) + ": " + to_string(logits) + " is not [rows, classes] with " +
                     std::to_string(rows) + " rows, one for each target");
  const std::int64_t classes = std::min<std::int64_t>(logits[1], std::numeric_limits<std::int32_t>::max());
  std::vector<std::int32_t> checked(targets.size(), no_target);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t target = targets[i];
    if (target == ignore_index) continue;
    if (target < 0 || target >= classes)
      throw InputError(std::string(op) + ": target " + std::to_string(target) + " of row " +
                       std::to_string(i) + " is none of " + std::to_string(classes) +
                       " classes: give a number from 0 on, or " + std::to_string(ignore_index) +
                       " to ignore the row");
    checked[i] = static_cast<std::int32_t>(target);
  }
  return checked;
}

}  // namespace detail

}  // namespace precast
