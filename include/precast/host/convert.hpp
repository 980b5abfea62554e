// Conversion of whole rows between scalar dtypes: bit for bit what convert<> does, in loops that vectorise.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/parallel.hpp>
#include <precast/tensor/as_view.hpp>

namespace precast::host {

/// Converts each value to To: the same bits as `convert<To>(value)` for every value, subnormals, infinities
/// and NaN among them. With `Saturates`, values above the range of To, infinities too, become its largest
/// number instead. The spans have equal lengths and do not overlap, unless they are the same memory and
/// dtype.
template <ScalarDtype To, bool Saturates = false, ScalarDtype From>
void convert_row(std::span<const From> from, std::span<To> to) {
  const From* in = from.data();
  To* out = to.data();
  const std::size_t count = from.size();
  if constexpr (std::same_as<To, From> && !Saturates) {
    if (count && in != out) std::memmove(out, in, count * sizeof(To));
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = convert_value<To, Saturates>(in[i]);
  }
}

/// Rounds f32 values to T and back: what remains of them after a store in T.
template <ScalarDtype T, bool Saturates = false>
void round_row(std::span<f32> values) {
  if constexpr (!std::same_as<T, f32> || Saturates)
    for (f32& value : values) value = convert_value<f32, false>(convert_value<T, Saturates>(value));
}

/// A row as f32: the row itself where it is f32 already, else exactly widened into `scratch`.
template <ScalarDtype From>
std::span<const f32> row_in_f32(std::span<const From> row, f32* scratch) {
  if constexpr (std::same_as<From, f32>) {
    return row;
  } else {
    convert_row<f32>(row, std::span<f32>(scratch, row.size()));
    return {scratch, row.size()};
  }
}

/// Where f32 results of a row are computed before they are stored as T: the row itself where it can hold
/// them.
template <ScalarDtype T>
std::span<f32> row_to_compute(std::span<T> row, f32* scratch) {
  if constexpr (std::same_as<T, f32>)
    return row;
  else
    return {scratch, row.size()};
}

/// Stores what was computed in `row_to_compute`: the one rounding of a result.
template <bool Saturates, ScalarDtype T>
void store_row(std::span<const f32> computed, std::span<T> row) {
  convert_row<T, Saturates>(computed, row);
}

/// Values that one task of a pointwise loop takes: as f32 they fit the nearest cache.
inline constexpr std::int64_t values_per_chunk = 2048;

/// Converts an array to one of another dtype with the same number of values and columns; both may be strided.
template <ScalarDtype To, bool Saturates = false, ScalarArray A>
void convert_values(const A& from, HostView<To> to) {
  const auto in = as_view(from);
  if (in.elements() != to.elements() || in.columns() != to.columns())
    throw ShapeError("cannot copy " + to_string(in.shape()) + " into " + to_string(to.shape()));
  if (in.elements() == 0) return;
  const bool whole = in.contiguous() && to.contiguous();
  const std::int64_t rows = whole ? 1 : in.rows(), columns = whole ? in.elements() : in.columns();
  constexpr std::int64_t chunk = 16 * values_per_chunk;
  const std::int64_t chunks = (columns + chunk - 1) / chunk;
  // Short rows are grouped, so that a task is worth a thread.
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, chunk / columns);
  const std::int64_t row_groups = (rows + rows_per_task - 1) / rows_per_task;
  parallel_for(row_groups * chunks, [&](std::int64_t task) {
    const std::int64_t first = task % chunks * chunk, count = std::min(chunk, columns - first);
    const std::int64_t begin = task / chunks * rows_per_task, end = std::min(rows, begin + rows_per_task);
    for (std::int64_t r = begin; r < end; ++r)
      convert_row<To, Saturates>(
          std::span<const value_type_of<A>>(in.data() + r * in.row_stride() + first,
                                            static_cast<std::size_t>(count)),
          std::span<To>(to.data() + r * to.row_stride() + first, static_cast<std::size_t>(count)));
  });
}

}  // namespace precast::host
