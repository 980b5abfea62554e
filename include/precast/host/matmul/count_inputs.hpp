// count_inputs: counts the squares of a product's inputs for an observer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/memory_counter.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/input_squares.hpp>

namespace precast::host {

/// Adds the squares of each column of x to what watch::CountingInputSquares counts, rows in their order, so
/// that the sums are the same for any number of threads. Costs one branch where there is no observer.
template <ScalarDtype T>
void count_inputs(HostView<const T> x) {
  if constexpr (watch::compiled) {
    if (!watch::active()) [[likely]]
      return;
    watch::InputSquares* const squares = watch::counted_input_squares();
    if (!squares || MemoryCounter::active()) return;
    constexpr std::int64_t columns_a_task = 64;
    const std::span<double> sums = squares->begin(x.rows(), x.columns());
    parallel_for(ceil_divide(x.columns(), columns_a_task), [&](std::int64_t task) {
      const std::int64_t first = task * columns_a_task, end = std::min(first + columns_a_task, x.columns());
      for (std::int64_t r = 0; r < x.rows(); ++r) {
        const std::span<const T> row = x.row(r);
        for (std::int64_t c = first; c < end; ++c) {
          const double value = to_double(row[static_cast<std::size_t>(c)]);
          sums[static_cast<std::size_t>(c)] += value * value;
        }
      }
    });
  }
}

}  // namespace precast::host
