// Gradients of functions of values that have more than one result.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/host/convert.hpp>
#include <precast/host/parallel.hpp>
#include <precast/problem/elementwise_gradient.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// da = dy b f'(a) and db = dy f(a), for the activation F.
template <class Types, class F, class DY, class A, class B>
void gated_product_gradient(HostView<const DY> dy, HostView<const A> a, HostView<const B> b,
                            HostView<typename Types::result> da, HostView<typename Types::result> db) {
  watch::ran_in<Types>();
  using Inside = typename Types::inside;
  const std::int64_t columns = dy.columns(), rows = dy.rows();
  const std::int64_t rows_per_task =
      std::max<std::int64_t>(1, 8 * values_per_chunk / std::max<std::int64_t>(columns, 1));
  using Gradient = elementwise::GatedProductGradient<F>;
  parallel_for(ceil_divide(rows, rows_per_task), [&](std::int64_t task) {
    alignas(64) std::array<std::array<f32, values_per_chunk>, 5> scratch;
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (std::int64_t r = task * rows_per_task; r < end; ++r)
      for (std::int64_t first = 0; first < columns; first += values_per_chunk) {
        const auto at = static_cast<std::size_t>(first);
        const auto count = static_cast<std::size_t>(std::min(values_per_chunk, columns - first));
        const f32* const in_dy = row_in_f32(dy.row(r).subspan(at, count), scratch[0].data()).data();
        const f32* const in_a = row_in_f32(a.row(r).subspan(at, count), scratch[1].data()).data();
        const f32* const in_b = row_in_f32(b.row(r).subspan(at, count), scratch[2].data()).data();
        f32 *const to_a = scratch[3].data(), *const to_b = scratch[4].data();
        for (std::size_t i = 0; i < count; ++i) {
          to_a[i] = Gradient::template of_a<Inside>(in_dy[i], in_a[i], in_b[i]);
          to_b[i] = Gradient::template of_b<Inside>(in_dy[i], in_a[i]);
        }
        store_row<Types::saturate>(std::span<const f32>(to_a, count), da.row(r).subspan(at, count));
        store_row<Types::saturate>(std::span<const f32>(to_b, count), db.row(r).subspan(at, count));
      }
  });
}

}  // namespace precast::host
