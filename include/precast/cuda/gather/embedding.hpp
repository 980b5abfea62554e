// Embedding: rows of a table by number.
#pragma once

#include <cstdint>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/gather/ids.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/gather_kernels.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// A row's values as they are stored, or NaN.
template <class To, bool Saturates>
struct CastOrNan {
  bool is_row;
  template <class From>
  PRECAST_DEVICE To operator()(From value) const {
    return is_row ? Cast<To, Saturates>{}(value) : round_to<To, Saturates>(quiet_nan);
  }
};

// Bytes moved: each row that is asked for read once and written once, the minimum, and its number.
template <int Count, bool Saturates, class From, class To, class Numbers>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    embedding_kernel(MapOutput<To> out, MapInput<From> table, Numbers numbers) {
  const MapPlace<Count> place = map_place<Count>(out);
  const auto number = place.present(0) > 0 ? numbers.of_row(place.row) : 0;
  const bool is_row = numbers.is_valid(number);
  MapPlace<Count> from = place;
  if (!is_row) from.columns = 0;
  const auto loads =
      runs_of_row<Count, const From>(table.data + (is_row ? table.row_offset(number) : 0), from);
  map_and_store<Count>(CastOrNan<To, Saturates>{is_row}, out, place, loads);
}

/// For a table in blocks: a thread decodes a value, rounds it and stores it. Correct, and simple.
template <bool Saturates, BlockDtype From, class To, class Numbers>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(256, 1)
    embedding_of_blocks(DeviceRows<To> out, std::int64_t rows, BlockRows<From> table, Numbers numbers) {
  const int column = block_index().x * 256 + thread_index();
  if (column >= table.columns) return;
  for (std::int64_t row = block_index().y; row < rows; row += grid_size().y) {
    const auto number = numbers.of_row(row);
    out.row(row)[column] = round_to<To, Saturates>(
        numbers.is_valid(number) ? table.value(table.row(number), column) : quiet_nan);
  }
}

/// Looks up rows of a table by `numbers`, which are launch arguments (Ids) or on the device.
template <class Types, class From, class Numbers>
void look_up(const DeviceView<const From>& table, const Numbers& numbers,
             const DeviceView<typename Types::result>& out, Stream stream) {
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>;
  const MapOutput<To> output{pointer_to(out),
                             out.row_stride(),
                             out.rows(),
                             out.columns(),
                             plan_map(out.rows(), out.columns(), count),
                             rows_are_aligned<count>(out) && rows_are_aligned<count>(table)};
  launch("embedding", embedding_kernel<count, Types::saturate, From, To, Numbers>,
         {{grid_blocks(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output, map_input(table),
         numbers);
}
template <class Types, BlockDtype From, class Numbers>
void look_up(const BlockViewIn<const From, DeviceSpace>& table, const Numbers& numbers,
             const DeviceView<typename Types::result>& out, Stream stream) {
  const auto rows_of_table = stored_rows(table);
  const auto rows_at_once = static_cast<int>(min_of<std::int64_t>(out.rows(), 65535));
  launch("embedding_of_blocks", embedding_of_blocks<Types::saturate, From, typename Types::result, Numbers>,
         {{(rows_of_table.columns + 255) / 256, rows_at_once, 1}, 256}, stream,
         DeviceRows<typename Types::result>(out), out.rows(), rows_of_table, numbers);
}

template <class Types, class Table>
void look_up_all(const Table& table, std::span<const std::int32_t> ids,
                 const DeviceView<typename Types::result>& out, Stream stream) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  for_each_launch(ids, [&](std::int64_t first, std::int64_t rows, const Ids& part) {
    look_up<Types>(table, part, out.rows_between(first, rows), stream);
  });
}
template <class Types, class Table, IndexInteger Number>
void look_up_all(const Table& table, IndicesIn<Number, DeviceSpace> ids,
                 const DeviceView<typename Types::result>& out, Stream stream) {
  watch::ran_in<Types>();
  if (out.elements() > 0) look_up<Types>(table, IndicesOnDevice<Number>(ids, table.shape()[0]), out, stream);
}

}  // namespace detail

/// Row i of `out` becomes row ids[i] of the table, [V, C], of scalars or of blocks; the ids are the host's
/// and lie in [0, V).
template <class Types, class From>
void embedding(DeviceView<const From> table, std::span<const std::int32_t> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  detail::look_up_all<Types>(table, ids, out, stream);
}
template <class Types, BlockDtype From>
void embedding(BlockViewIn<const From, DeviceSpace> table, std::span<const std::int32_t> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  detail::look_up_all<Types>(table, ids, out, stream);
}
/// The same for ids on the device: NaN for one outside of [0, V).
template <class Types, class From, IndexInteger Number>
void embedding(DeviceView<const From> table, IndicesIn<Number, DeviceSpace> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  detail::look_up_all<Types>(table, ids, out, stream);
}
template <class Types, BlockDtype From, IndexInteger Number>
void embedding(BlockViewIn<const From, DeviceSpace> table, IndicesIn<Number, DeviceSpace> ids,
               DeviceView<typename Types::result> out, Stream stream) {
  detail::look_up_all<Types>(table, ids, out, stream);
}

}  // namespace precast::gpu
