// Embedding: rows of a table by number.
#pragma once

#include <cstdint>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/gather/ids.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/gather_kernels.hpp>
#include <precast/tensor/row_numbers.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class T>
struct EmbeddingInput {
  using value_type = T;
  GlobalPointer<const T> data;
  std::int64_t row_stride;
  const Ids* ids;
  PRECAST_DEVICE std::int64_t row_offset(std::int64_t row) const { return ids->values[row] * row_stride; }
};

// Bytes moved: each row that is asked for read once and written once, the minimum.
template <int Count, bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    embedding_kernel(MapOutput<To> out, MapInput<From> table, Ids ids) {
  const MapPlace<Count> place = map_place<Count>(out);
  const EmbeddingInput<From> in{table.data, table.row_stride, &ids};
  map_and_store<Count>(Cast<To, Saturates>{}, out, place, map_loads(in, place));
}

/// A row's number, where it is one of a table's rows.
template <class Number>
struct NumbersOnDevice {
  GlobalPointer<const Number> values;
  std::int64_t rows;
  PRECAST_DEVICE bool has_row(Number number) const {
    return planted<"row number not checked">(number >= 0 && number < rows, true);
  }
};

/// A row's values as they are stored, or NaN.
template <class To, bool Saturates>
struct CastOrNan {
  bool is_row;
  template <class From>
  PRECAST_DEVICE To operator()(From value) const {
    return is_row ? Cast<To, Saturates>{}(value) : round_to<To, Saturates>(quiet_nan);
  }
};

// Bytes moved: each row that is asked for read once and written once, and its number, the minimum.
template <int Count, bool Saturates, class From, class To, class Number>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    embedding_by_device_kernel(MapOutput<To> out, MapInput<From> table, NumbersOnDevice<Number> ids) {
  const MapPlace<Count> place = map_place<Count>(out);
  const Number number = place.present(0) > 0 ? ids.values[place.row] : Number{};
  const bool is_row = ids.has_row(number);
  MapPlace<Count> from = place;
  if (!is_row) from.columns = 0;
  const auto loads =
      runs_of_row<Count, const From>(table.data + (is_row ? table.row_offset(number) : 0), from);
  map_and_store<Count>(CastOrNan<To, Saturates>{is_row}, out, place, loads);
}

/// A table in blocks: a thread decodes a value, rounds it and stores it. Right, and simple.
template <bool Saturates, BlockDtype From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(256, 1)
    embedding_of_blocks(GlobalPointer<To> out, std::int64_t row_stride, BlockRows<From> table, Ids ids) {
  const int row = block_index().y;
  const int column = block_index().x * 256 + thread_index();
  if (column < table.columns)
    out[row * row_stride + column] = round_to<To, Saturates>(table.value(table.row(ids.values[row]), column));
}
template <bool Saturates, BlockDtype From, class To, class Number>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(256, 1)
    embedding_of_blocks_by_device(GlobalPointer<To> out, std::int64_t row_stride, std::int64_t rows,
                                  BlockRows<From> table, NumbersOnDevice<Number> ids) {
  const int column = block_index().x * 256 + thread_index();
  if (column >= table.columns) return;
  for (std::int64_t row = block_index().y; row < rows; row += grid_size().y) {
    const Number number = ids.values[row];
    out[row * row_stride + column] =
        round_to<To, Saturates>(ids.has_row(number) ? table.value(table.row(number), column) : quiet_nan);
  }
}

/// Rows of a result that are made of rows of a table.
template <int Count, class To, class From>
MapOutput<To> embedding_output(const DeviceView<To>& rows, const DeviceView<const From>& table) {
  return {pointer_to(rows),
          rows.row_stride(),
          rows.rows(),
          rows.columns(),
          plan_map(rows.rows(), rows.columns(), Count),
          rows_are_aligned<Count>(rows) && rows_are_aligned<Count>(table)};
}
template <class Number>
NumbersOnDevice<Number> numbers_on_device(RowNumbersIn<Number, DeviceSpace> ids, std::int64_t rows) {
  return {global_pointer(ids.data, ids.count), rows};
}

}  // namespace detail

/// Row i of `out` becomes row ids[i] of the table, [V, C]; the ids are the host's and lie in [0, V).
template <class Types, class From>
void embedding(DeviceView<const From> table, std::span<const std::int32_t> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>;
  detail::for_each_launch(ids, out, [&](const DeviceView<To>& rows, const detail::Ids& part) {
    const auto output = detail::embedding_output<count>(rows, table);
    launch("embedding", detail::embedding_kernel<count, Types::saturate, From, To>,
           {{static_cast<int>(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output,
           detail::map_input(table), part);
  });
}
/// The same of ids on the device: NaN for one outside of [0, V).
template <class Types, class From, RowNumber Number>
void embedding(DeviceView<const From> table, RowNumbersIn<Number, DeviceSpace> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>;
  if (out.elements() == 0) return;
  const auto output = detail::embedding_output<count>(out, table);
  launch("embedding", detail::embedding_by_device_kernel<count, Types::saturate, From, To, Number>,
         {{static_cast<int>(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output,
         detail::map_input(table), detail::numbers_on_device(ids, table.shape()[0]));
}

/// Both of a table in blocks.
template <class Types, BlockDtype From>
void embedding(BlockViewIn<const From, DeviceSpace> table, std::span<const std::int32_t> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  const auto rows_of_table = stored_rows(table);
  detail::for_each_launch(ids, out, [&](const DeviceView<To>& rows, const detail::Ids& part) {
    launch("embedding_of_blocks", detail::embedding_of_blocks<Types::saturate, From, To>,
           {{(rows_of_table.columns + 255) / 256, static_cast<int>(rows.rows()), 1}, 256}, stream,
           pointer_to(rows), rows.row_stride(), rows_of_table, part);
  });
}
template <class Types, BlockDtype From, RowNumber Number>
void embedding(BlockViewIn<const From, DeviceSpace> table, RowNumbersIn<Number, DeviceSpace> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  if (out.elements() == 0) return;
  const auto rows_of_table = stored_rows(table);
  const auto rows_at_once = static_cast<int>(min_of<std::int64_t>(out.rows(), 65535));
  launch("embedding_of_blocks", detail::embedding_of_blocks_by_device<Types::saturate, From, To, Number>,
         {{(rows_of_table.columns + 255) / 256, rows_at_once, 1}, 256}, stream, pointer_to(out),
         out.row_stride(), out.rows(), rows_of_table, detail::numbers_on_device(ids, table.shape()[0]));
}

}  // namespace precast::gpu
