// The gradient of an embedding's table: rows are sorted by their numbers, and the rows of each number are
// added in their order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/gather/ids.hpp>
#include <precast/cuda/gather/sort_by_number.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

inline constexpr int embedding_gradient_threads = 128;
/// Rows of a number that are read at a time. The keys say where a row is, and whether another follows.
inline constexpr int embedding_gradient_rows = 8;

template <class DY, class To>
struct EmbeddingGradientArguments {
  DeviceRows<const DY> dy;
  DeviceRows<To> out;
  GlobalPointer<const std::uint64_t> keys;  ///< sorted
  std::int64_t count, columns;
  std::int32_t no_row;  ///< the number that stands for ids that are no row of the table
  bool accumulate;
};

// Bytes moved: each number read once, and 8 written for it.
template <class Number>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(embedding_gradient_threads, 1)
    numbered_rows_kernel(IndicesOnDevice<Number> numbers, std::int64_t count, std::int32_t no_row,
                         GlobalPointer<std::uint64_t> keys) {
  const std::int64_t i = std::int64_t{block_index().x} * embedding_gradient_threads + thread_index();
  if (i >= count) return;
  const auto number = numbers.of_row(i);
  keys[i] = NumberedRow::of(numbers.is_valid(number) ? static_cast<std::int32_t>(number) : no_row, i);
}

// Bytes moved: each row of dy read once, and each row of the table that occurs written once, read too where
// it is added to; 8 for each row of dy, from a cache after a warp's first column. The values of several rows
// are on their way at a time; they are added in their order.
template <class Types, class DY>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(embedding_gradient_threads, 1)
    embedding_gradient_kernel(EmbeddingGradientArguments<DY, typename Types::result> a) {
  using To = typename Types::result;
  const std::int64_t first = block_index().x;
  const std::int32_t number = NumberedRow::number(a.keys[first]);
  if (planted<"number that is no row">(number == a.no_row, false)) return;
  // The first row of a number adds all of them.
  if (first > 0 && planted<"each row alone">(NumberedRow::number(a.keys[first - 1]) == number, false)) return;
  const std::int64_t column = std::int64_t{block_index().y} * embedding_gradient_threads + thread_index();
  if (column >= a.columns) return;
  constexpr int at_once = embedding_gradient_rows;
  f32 sum = 0;
  bool more = true;
  for (std::int64_t i = first; more; i += at_once) {
    std::int64_t rows[at_once];  // -1 where there is none left
    PRECAST_UNROLL
    for (int j = 0; j < at_once; ++j) {
      const bool there = i + j < a.count;
      const std::uint64_t key = there ? a.keys[i + j] : 0;
      rows[j] = there && NumberedRow::number(key) == number ? NumberedRow::row(key) : -1;
    }
    f32 terms[at_once];
    PRECAST_UNROLL
    for (int j = 0; j < at_once; ++j) terms[j] = rows[j] < 0 ? 0.0f : to_f32(a.dy.row(rows[j])[column]);
    PRECAST_UNROLL
    for (int j = 0; j < at_once; ++j)
      if (rows[j] >= 0) sum = planted<"accumulate ignored">(narrow_add<Types>(sum, terms[j]), sum + terms[j]);
    more = rows[at_once - 1] >= 0;
  }
  const GlobalPointer<To> place = a.out.row(number) + column;
  *place = round_to<To, Types::saturate>(
      planted<"gradient not added">(a.accumulate, false) ? to_f32(To{*place}) + sum : sum);
}

// Bytes moved: each value written once.
template <class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(embedding_gradient_threads, 1)
    clear_rows_kernel(DeviceRows<To> out, std::int64_t rows, std::int64_t columns) {
  const std::int64_t column = std::int64_t{block_index().x} * embedding_gradient_threads + thread_index();
  if (column >= columns) return;
  for (std::int64_t row = block_index().y; row < rows; row += grid_size().y) out.row(row)[column] = To{};
}

/// The gradient of a table, from rows numbered by ids on the device.
template <class Types, class DY, IndexInteger Number>
void add_rows_by_number(const DeviceView<const DY>& dy, IndicesIn<Number, DeviceSpace> ids,
                        const GradientOptions& options, const DeviceView<typename Types::result>& out,
                        Stream stream) {
  using To = typename Types::result;
  constexpr int threads = embedding_gradient_threads;
  const std::int64_t columns = out.columns();
  const auto across = static_cast<int>(ceil_divide(columns, threads));
  if (!options.accumulate)
    launch("clear_rows", clear_rows_kernel<To>,
           {{across, static_cast<int>(min_of<std::int64_t>(out.rows(), 1024)), 1}, threads}, stream,
           DeviceRows<To>(out), out.rows(), columns);
  if (ids.count == 0) return;
  const auto no_row = static_cast<std::int32_t>(out.rows());
  const std::size_t bytes = static_cast<std::size_t>(ids.count) * sizeof(std::uint64_t);
  const StreamScope scope(stream);  // of the keys
  BufferIn<Memory> given(bytes), sorted(bytes);
  auto* const keys = reinterpret_cast<std::uint64_t*>(given.data());
  auto* const in_order = reinterpret_cast<std::uint64_t*>(sorted.data());
  launch("numbered_rows", numbered_rows_kernel<Number>,
         {{grid_blocks(ceil_divide(ids.count, threads)), 1, 1}, threads}, stream,
         IndicesOnDevice<Number>(ids, out.rows()), ids.count, no_row, global_pointer(keys, ids.count));
  sort_by_number(keys, in_order, ids.count, std::bit_width(static_cast<std::uint64_t>(out.rows())), stream);
  launch("embedding_gradient", embedding_gradient_kernel<Types, DY>,
         {{grid_blocks(ids.count), across, 1}, threads}, stream,
         EmbeddingGradientArguments<DY, To>{.dy = dy,
                                            .out = out,
                                            .keys = global_pointer<const std::uint64_t>(in_order, ids.count),
                                            .count = ids.count,
                                            .columns = columns,
                                            .no_row = no_row,
                                            .accumulate = options.accumulate});
}

}  // namespace detail

/// Row v of out = the sum of the rows i of dy with ids[i] = v, in the order of i; zeros where there is none.
/// Or added to what is there. The ids, which are the host's, are rows of `out` or
/// `embedding_without_gradient`; ops check them.
template <class Types, class DY>
void embedding_gradient(DeviceView<const DY> dy, std::span<const std::int32_t> ids,
                        const GradientOptions& options, DeviceView<typename Types::result> out,
                        Stream stream) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const StreamScope scope(stream);  // of the ids
  BufferIn<Memory> given(ids.size_bytes());
  given.upload(0, ids.data(), ids.size_bytes());
  detail::add_rows_by_number<Types>(dy,
                                    IndicesIn<std::int32_t, DeviceSpace>{
                                        reinterpret_cast<const std::int32_t*>(given.data()), std::ssize(ids)},
                                    options, out, stream);
}
/// The same for ids on the device: one that is no row of `out` adds to none.
template <class Types, class DY, IndexInteger Number>
void embedding_gradient(DeviceView<const DY> dy, IndicesIn<Number, DeviceSpace> ids,
                        const GradientOptions& options, DeviceView<typename Types::result> out,
                        Stream stream) {
  watch::ran_in<Types>();
  if (out.elements() > 0) detail::add_rows_by_number<Types>(dy, ids, options, out, stream);
}

}  // namespace precast::gpu
