// Rows of one array as rows of another: look-ups and enlargement.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <precast/dtype/decode_run.hpp>
#include <precast/host/convert.hpp>
#include <precast/host/parallel.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// out row i = table row ids[i]. The ids are rows of the table; ops check them.
template <class Types, class From>
void embedding(HostView<const From> table, std::span<const std::int32_t> ids,
               HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  for (std::int64_t i = 0; i < out.rows(); ++i)
    convert_row<typename Types::result, Types::saturate>(table.row(ids[static_cast<std::size_t>(i)]),
                                                         out.row(i));
}

/// The same of a table in blocks: each value is decoded, and rounded once.
template <class Types, BlockDtype From>
void embedding(BlockViewIn<const From, HostSpace> table, std::span<const std::int32_t> ids,
               HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  std::array<f32, static_cast<std::size_t>(values_per_chunk)> values;
  for (std::int64_t i = 0; i < out.rows(); ++i)
    for (std::int64_t k = 0; k < out.columns(); k += values_per_chunk) {
      const std::int64_t some = std::min(values_per_chunk, out.columns() - k);
      const auto count = static_cast<std::size_t>(some);
      decode_run<From>(table.row(ids[static_cast<std::size_t>(i)]), k, some, values.data());
      convert_row<typename Types::result, Types::saturate>(
          std::span<const f32>(values.data(), count), out.row(i).subspan(static_cast<std::size_t>(k), count));
    }
}

/// Each pixel of x [B, H, W, C] becomes factor x factor pixels of out [B, H', W', C], less those that lie
/// beyond its edges.
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
