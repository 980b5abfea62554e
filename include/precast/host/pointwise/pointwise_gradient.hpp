// Gradients of pointwise functions with more than one result.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/for_each_row.hpp>
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
  const std::int64_t columns = dy.columns();
  using Gradient = elementwise::GatedProductGradient<F>;
  parallel_for_rows(dy.rows(), columns, [&](std::int64_t first_row, std::int64_t end) {
    alignas(64) std::array<std::array<f32, values_per_chunk>, 5> scratch;
    for (std::int64_t r = first_row; r < end; ++r)
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
