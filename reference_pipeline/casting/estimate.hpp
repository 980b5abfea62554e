// LossEstimate: a layer's relative loss in a format from its weights and the size of its inputs, without
// running it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <precast/dtype/scalar.hpp>

namespace precast::casting {

/// The mean square of the input to each column of a matrix, by the name of its weights; empty where it is
/// unknown. Throws where it is known for another number of columns.
using ColumnImportance = std::function<std::span<const f32>(const std::string& name, std::int64_t columns)>;

/// The sum over matrices and columns of the mean square of a column's input times the squared error of the
/// column: the squared change that a cast makes in a row of a matrix's output, summed over the row, if
/// inputs were independent of each other.
class LossEstimate {
 public:
  /// Adds a matrix, [rows, columns] in row-major order, before and after the cast, and the importance of
  /// each column; an empty one makes the estimate unknown, unless the cast changed nothing.
  void add(std::span<const f32> original, std::span<const f32> cast, std::span<const f32> importance);

  /// The estimate for all matrices together; unknown where one that the cast changed has no importance.
  std::optional<double> value() const { return known_ ? std::optional(sum_) : std::nullopt; }

 private:
  double sum_ = 0;
  bool known_ = true;
};

}  // namespace precast::casting
