// The kernel of every op that computes each value from the values in the same place of other arrays.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/map_tile.hpp>
#include <precast/problem/broadcast.hpp>

namespace precast::gpu::detail {

/// An input with the result's rows.
template <class T>
struct MapInput {
  using value_type = T;
  GlobalPointer<const T> data;
  std::int64_t row_stride;
  PRECAST_DEVICE std::int64_t row_offset(std::int64_t row) const { return row * row_stride; }
};
/// An input each of whose rows is broadcast to several of the result's.
template <class T>
struct MapBroadcast {
  using value_type = T;
  GlobalPointer<const T> data;
  std::int64_t row_stride;
  Divisor rows_each, rows;
  PRECAST_DEVICE std::int64_t row_offset(std::int64_t row) const {
    const std::int64_t one = planted<"row broadcast to another">(rows_each.divide(row).quotient, row);
    return rows.divide(one).rest * row_stride;
  }
};

template <class T>
struct MapOutput {
  GlobalPointer<T> data;
  std::int64_t row_stride, rows, columns;
  MapPlan plan;
  bool aligned;  ///< all arrays are
  Divisor blocks_per_row{plan.blocks_per_row};
};

/// The place of a thread's runs: all in one row, `lanes` apart.
template <int Count>
struct MapPlace {
  std::int64_t row, first;
  int lanes;
  std::int64_t columns;
  bool aligned;

  PRECAST_DEVICE std::int64_t column(int run) const {
    return first + static_cast<std::int64_t>(run) * lanes * Count;
  }
  PRECAST_DEVICE int present(int run) const {
    const std::int64_t left = columns - column(run);
    return planted<"last run">(left >= Count, left > 0) ? Count : left > 0 ? static_cast<int>(left) : 0;
  }
};

template <int Count, class T>
PRECAST_DEVICE MapPlace<Count> map_place(const MapOutput<T>& out) {
  const int lanes = out.plan.lanes, thread = thread_index(), lane = thread & (lanes - 1);
  const auto [group, across] = out.blocks_per_row.divide(block_index().x);
  const std::int64_t row = group * out.plan.rows_per_block() + (thread >> out.plan.lane_bits);
  return {row, (across * map_tile.runs * lanes + lane) * Count, lanes,
          planted<"rows past the last">(row < out.rows, true) ? out.columns : 0, out.aligned};
}

template <int Count, class T>
struct MapLoads {
  Run<T, Count> runs[map_tile.runs];
};

/// A thread's runs of the row that begins at `row`: all are read before any is used.
template <int Count, class T>
PRECAST_DEVICE auto runs_of_row(GlobalPointer<T> row, const MapPlace<Count>& place) {
  MapLoads<Count, std::remove_const_t<T>> loads;
  PRECAST_UNROLL
  for (int run = 0; run < map_tile.runs; ++run)
    loads.runs[run] = load_run<Count>(row + place.column(run), place.present(run), place.aligned);
  return loads;
}
template <int Count, class Input>
PRECAST_DEVICE auto map_loads(const Input& in, const MapPlace<Count>& place) {
  return runs_of_row<Count, const typename Input::value_type>(
      in.data + (place.present(0) > 0 ? in.row_offset(place.row) : 0), place);
}

// What is read is passed as arguments, so that all reads of a thread are in flight before its first store.
template <int Count, class Op, class To, class... From>
PRECAST_DEVICE void map_and_store(const Op& op, const MapOutput<To>& out, const MapPlace<Count>& place,
                                  const MapLoads<Count, From>&... loads) {
  PRECAST_UNROLL
  for (int run = 0; run < map_tile.runs; ++run) {
    Run<To, Count> results{};
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) results.set(i, op(loads.runs[run][i]...));
    store_run(out.data + place.row * out.row_stride + place.column(run), results, place.present(run),
              place.aligned);
  }
}

// Bytes moved: each value of each array read once and each result written once, the minimum; rows that are
// broadcast come from a cache after their first use.
template <int Count, class Op, class To, class... Input>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    map_kernel(Op op, MapOutput<To> out, Input... in) {
  const MapPlace<Count> place = map_place<Count>(out);
  map_and_store<Count>(op, out, place, map_loads(in, place)...);
}

template <class T>
const DeviceView<const T>& rows_of(const DeviceView<const T>& view) {
  return view;
}
template <class T>
const DeviceView<const T>& rows_of(const RowBroadcast<T>& broadcast) {
  return broadcast.values;
}
template <class T>
MapInput<T> map_input(const DeviceView<const T>& view) {
  return {pointer_to(view), view.row_stride()};
}
template <class T>
MapBroadcast<T> map_input(const RowBroadcast<T>& broadcast) {
  return {pointer_to(broadcast.values), broadcast.values.row_stride(), broadcast.rows_each,
          broadcast.values.rows()};
}

/// A view as one row, where `whole`.
template <class T>
DeviceView<T> as_one_row(const DeviceView<T>& view, bool whole) {
  return whole ? view.reshaped(Shape{1, view.elements()}) : view;
}
template <class T>
const RowBroadcast<T>& as_one_row(const RowBroadcast<T>& broadcast, bool) {
  return broadcast;
}
/// Stores `op(value, ...)` of values in the inputs' own dtypes; inputs are map_values'.
template <class Op, class To, class... In>
void map_arrays(const char* name, const Op& op, DeviceView<To> out, Stream stream, const In&... in) {
  constexpr int count = values_at_once<To, typename In::value_type...>;
  if (out.elements() == 0) return;
  const bool whole = out.contiguous() && (is_one_run(in) && ...);
  const DeviceView<To> rows = as_one_row(out, whole);
  const bool aligned =
      rows_are_aligned<count>(rows) && (rows_are_aligned<count>(rows_of(as_one_row(in, whole))) && ...);
  const MapOutput<To> output{pointer_to(rows),
                             rows.row_stride(),
                             rows.rows(),
                             rows.columns(),
                             plan_map(rows.rows(), rows.columns(), count),
                             aligned};
  launch(name, map_kernel<count, Op, To, decltype(map_input(in))...>,
         {{grid_blocks(output.plan.blocks), 1, 1}, map_tile.threads}, stream, op, output,
         map_input(as_one_row(in, whole))...);
}

}  // namespace precast::gpu::detail
