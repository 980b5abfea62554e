#include <algorithm>
#include <cstddef>
#include <vector>

#include <casting/estimate.hpp>

#include <precast/dtype/host_device.hpp>
#include <precast/host/runtime/parallel.hpp>

namespace precast::casting {

void LossEstimate::add(std::span<const f32> original, std::span<const f32> cast,
                       std::span<const f32> importance) {
  if (importance.empty()) {
    if (!std::ranges::equal(original, cast)) known_ = false;
    return;
  }
  if (!known_) return;
  constexpr std::int64_t values_a_task = std::int64_t{1} << 16;
  const auto columns = static_cast<std::int64_t>(importance.size()), rows = std::ssize(original) / columns;
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, values_a_task / columns);
  std::vector<double> parts(static_cast<std::size_t>(ceil_divide(rows, rows_a_task)));
  host::parallel_for(std::ssize(parts), [&](std::int64_t task) {
    double sum = 0;
    for (std::int64_t row = task * rows_a_task; row < std::min(rows, (task + 1) * rows_a_task); ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        const auto at = static_cast<std::size_t>(row * columns + column);
        const double change = static_cast<double>(cast[at]) - static_cast<double>(original[at]);
        sum += static_cast<double>(importance[static_cast<std::size_t>(column)]) * change * change;
      }
    parts[static_cast<std::size_t>(task)] = sum;
  });
  for (const double part : parts) sum_ += part;
}

}  // namespace precast::casting
