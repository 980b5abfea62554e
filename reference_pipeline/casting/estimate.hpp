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

/// The mean square of what meets each column of a matrix, by the name of its weights; empty where nobody
/// knows. Throws where it is known for another number of columns.
using ColumnImportance = std::function<std::span<const f32>(const std::string& name, std::int64_t columns)>;

/// If the inputs of a matrix were independent of each other, the mean square of what a cast changes in its
/// output would be the sum over columns of their mean square times the squared error of the column, and that
/// of the output itself the same sum of squared weights.
class LossEstimate {
 public:
  /// Adds a matrix, [rows, columns] in row-major order, before and after the cast, and one number for each
  /// column; none makes the estimate unknown.
  void add(std::span<const f32> original, std::span<const f32> cast, std::span<const f32> importance);

  /// The sums of changes over the sums of outputs, of all matrices together; unknown where one of them has no
  /// importance, and where there is no output.
  std::optional<double> relative() const;

 private:
  double error_ = 0, output_ = 0;
  bool known_ = true;
};

}  // namespace precast::casting
