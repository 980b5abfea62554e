// Gathers rows of one array into another: embedding look-ups and nearest-neighbour enlargement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/decode_run.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// Copies a row of a table to a row of a result, each value rounded once.
template <class Types, class From>
void look_up(const HostView<const From>& table, std::int64_t row, std::span<typename Types::result> to) {
  convert_row<typename Types::result, Types::saturate>(table.row(row), to);
}
template <class Types, BlockDtype From>
void look_up(const BlockViewIn<const From, HostSpace>& table, std::int64_t row,
             std::span<typename Types::result> to) {
  store_decoded<Types::saturate>(to, [&](std::int64_t first, std::span<f32> values) {
    decode_run<From>(table.row(row), first, std::ssize(values), values.data());
  });
}

template <class Types, class Table>
void look_up_all(const Table& table, std::span<const std::int32_t> ids,
                 HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  for (std::int64_t i = 0; i < out.rows(); ++i)
    look_up<Types>(table, ids[static_cast<std::size_t>(i)], out.row(i));
}
/// Fills the row of an id out of range with NaN.
template <class Types, class Table, IndexInteger Number>
void look_up_all(const Table& table, IndicesIn<Number, HostSpace> ids, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  constexpr f32 nan = std::numeric_limits<f32>::quiet_NaN();
  for (std::int64_t i = 0; i < out.rows(); ++i)
    if (const Number id = ids.data[i]; id >= 0 && id < table.shape()[0])
      look_up<Types>(table, id, out.row(i));
    else
      std::ranges::fill(out.row(i), convert_value<typename Types::result, Types::saturate>(nan));
}

}  // namespace detail

/// out row i = table row ids[i], of scalars or of blocks. The ids are rows of the table; ops check them.
template <class Types, class From>
void embedding(HostView<const From> table, std::span<const std::int32_t> ids,
               HostView<typename Types::result> out) {
  detail::look_up_all<Types>(table, ids, out);
}
template <class Types, BlockDtype From>
void embedding(BlockViewIn<const From, HostSpace> table, std::span<const std::int32_t> ids,
               HostView<typename Types::result> out) {
  detail::look_up_all<Types>(table, ids, out);
}
/// The same for unchecked ids: an id out of range gives NaN.
template <class Types, class From, IndexInteger Number>
void embedding(HostView<const From> table, IndicesIn<Number, HostSpace> ids,
               HostView<typename Types::result> out) {
  detail::look_up_all<Types>(table, ids, out);
}
template <class Types, BlockDtype From, IndexInteger Number>
void embedding(BlockViewIn<const From, HostSpace> table, IndicesIn<Number, HostSpace> ids,
               HostView<typename Types::result> out) {
  detail::look_up_all<Types>(table, ids, out);
}

/// Each pixel of x [B, H, W, C] becomes factor x factor pixels of out [B, H', W', C], except those beyond
/// its edges.
template <class Types, class From>
void upsample_nearest(HostView<const From> x, std::int64_t factor, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const Shape& from = x.shape();
  const std::int64_t height = out.shape()[1], width = out.shape()[2];
  parallel_for(from[0] * from[1], [&](std::int64_t line) {
    const std::int64_t first = line % from[1] * factor, last = std::min(height, first + factor);
    for (std::int64_t to = first; to < last; ++to)
      for (std::int64_t pixel = 0; pixel < width; ++pixel)
        convert_row<typename Types::result, Types::saturate>(
            x.row(line * from[2] + pixel / factor), out.row((line / from[1] * height + to) * width + pixel));
  });
}

}  // namespace precast::host
