// The target classes of a cross entropy and its gradient.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/problem/loss_kernels.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The class of each row: an array in host memory, or Indices in this backend's memory.
template <class T>
concept ClassNumbers = HostIndices<T> || UncheckedIndices<T>;

}  // namespace PRECAST_BACKEND

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;  ///< rows of this target count neither in the sum nor in the mean
};

namespace detail {

inline void require_row_for_each_target(std::string_view op, const Shape& logits, std::int64_t targets) {
  if (logits.rank() != 2 || logits[0] != targets)
    throw ShapeError(std::string(op) + ": " + to_string(logits) + " is not [rows, classes] with " +
                     std::to_string(targets) + " rows, one for each target");
}

/// Targets that the host has checked, in the form that kernels take.
class CheckedClasses {
 public:
  explicit CheckedClasses(std::vector<std::int32_t> classes) : classes_(std::move(classes)) {}
  std::span<const std::int32_t> as_argument() const { return classes_; }

 private:
  std::vector<std::int32_t> classes_;
};
/// Checks the targets of rows; ignored ones become `no_target`. Throws InputError for one that is no class.
template <HostIndices T>
CheckedClasses targets_of_rows(std::string_view op, const Shape& logits, const T& given,
                               std::int64_t ignore_index) {
  const std::span targets(given);
  require_row_for_each_target(op, logits, std::ssize(targets));
  const std::int64_t classes = std::min<std::int64_t>(logits[1], std::numeric_limits<std::int32_t>::max());
  std::vector<std::int32_t> checked(targets.size(), no_target);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t target = targets[i];
    if (target == ignore_index) continue;
    if (target < 0 || target >= classes)
      throw InputError(std::string(op) + ": target " + std::to_string(target) + " of row " +
                       std::to_string(i) + " is not one of " + std::to_string(classes) +
                       " classes: give a number from 0 on, or " + std::to_string(ignore_index) +
                       " to ignore the row");
    checked[i] = static_cast<std::int32_t>(target);
  }
  return CheckedClasses(std::move(checked));
}
inline namespace PRECAST_BACKEND {

/// Targets that kernels check.
template <IndexInteger Number>
struct ClassesToCheck {
  UncheckedTargets<Number, BackendSpace> targets;
  const UncheckedTargets<Number, BackendSpace>& as_argument() const { return targets; }
};

/// The same for targets that kernels check. Throws InputError for targets at nullptr.
template <IndexInteger Number>
ClassesToCheck<Number> targets_of_rows(std::string_view op, const Shape& logits, Indices<Number> given,
                                       std::int64_t ignore_index) {
  require_row_for_each_target(op, logits, given.count);
  if (given.count > 0 && !given.data)
    throw InputError(std::string(op) + ": " + std::to_string(given.count) +
                     " targets at nullptr: give their address");
  return {{given, ignore_index}};
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

}  // namespace precast
