// Embedding: rows of a table by number.
#pragma once

#include <cstdint>
#include <span>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/gather/ids.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/tile/block_rows.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/gather_kernels.hpp>
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

/// A table in blocks: a thread decodes a value, rounds it and stores it. Right, and simple.
template <bool Saturates, BlockDtype From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(256, 1)
    embedding_of_blocks(GlobalPointer<To> out, std::int64_t row_stride, BlockRows<From> table, Ids ids) {
  const int row = block_index().y;
  const int column = block_index().x * 256 + thread_index();
  if (column < table.columns)
    out[row * row_stride + column] = round_to<To, Saturates>(table.value(table.row(ids.values[row]), column));
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
    const detail::MapOutput<To> output{pointer_to(rows),
                                       rows.row_stride(),
                                       rows.rows(),
                                       rows.columns(),
                                       plan_map(rows.rows(), rows.columns(), count),
                                       rows_are_aligned<count>(rows) && rows_are_aligned<count>(table)};
    launch("embedding", detail::embedding_kernel<count, Types::saturate, From, To>,
           {{static_cast<int>(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output,
           detail::map_input(table), part);
  });
}

/// The same of a table in blocks.
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

}  // namespace precast::gpu
