// Both gradients of a gated product, in one pass.
#pragma once

#include <cstdint>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/problem/elementwise_gradient.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

// Bytes moved: each value of three arrays read once, and of two written once: the minimum.
template <class Types, int Count, class F, class DY, class A, class B>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    gated_product_gradient_kernel(MapOutput<typename Types::result> da, DeviceRows<typename Types::result> db,
                                  MapInput<DY> dy, MapInput<A> a, MapInput<B> b) {
  using To = typename Types::result;
  using Inside = typename Types::inside;
  using Gradient = elementwise::GatedProductGradient<F>;
  const MapPlace<Count> place = map_place<Count>(da);
  const auto in_dy = map_loads(dy, place);
  const auto in_a = map_loads(a, place);
  const auto in_b = map_loads(b, place);
  PRECAST_UNROLL
  for (int run = 0; run < map_tile.runs; ++run) {
    Run<To, Count> da_run{}, db_run{};
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) {
      const f32 gradient = to_f32(in_dy.runs[run][i]), gate = to_f32(in_a.runs[run][i]),
                value = to_f32(in_b.runs[run][i]);
      da_run.set(i, round_to<To, Types::saturate>(
                        planted<"inside ignored">(Gradient::template of_a<Inside>(gradient, gate, value),
                                                  Gradient::template of_a<f32>(gradient, gate, value))));
      db_run.set(i, round_to<To, Types::saturate>(planted<"gate for its slope">(
                        Gradient::template of_b<Inside>(gradient, gate), gradient * gate)));
    }
    store_run(da.data + place.row * da.row_stride + place.column(run), da_run, place.present(run),
              place.aligned);
    store_run(db.row(place.row) + place.column(run), db_run, place.present(run), place.aligned);
  }
}

}  // namespace detail

/// da = dy b f'(a) and db = dy f(a), for the activation F.
template <class Types, class F, class DY, class A, class B>
void gated_product_gradient(DeviceView<const DY> dy, DeviceView<const A> a, DeviceView<const B> b,
                            DeviceView<typename Types::result> da, DeviceView<typename Types::result> db,
                            Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  constexpr int count = values_at_once<To, DY, A, B>;
  if (da.elements() == 0) return;
  const bool whole =
      da.contiguous() && db.contiguous() && dy.contiguous() && a.contiguous() && b.contiguous();
  const auto rows = detail::as_one_row(da, whole), others = detail::as_one_row(db, whole);
  const auto in_dy = detail::as_one_row(dy, whole);
  const auto in_a = detail::as_one_row(a, whole);
  const auto in_b = detail::as_one_row(b, whole);
  const bool aligned = rows_are_aligned<count>(rows) && rows_are_aligned<count>(others) &&
                       rows_are_aligned<count>(in_dy) && rows_are_aligned<count>(in_a) &&
                       rows_are_aligned<count>(in_b);
  const detail::MapOutput<To> output{pointer_to(rows),
                                     rows.row_stride(),
                                     rows.rows(),
                                     rows.columns(),
                                     plan_map(rows.rows(), rows.columns(), count),
                                     aligned};
  launch("gated_product_gradient", detail::gated_product_gradient_kernel<Types, count, F, DY, A, B>,
         {{grid_blocks(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output, DeviceRows<To>(others),
         detail::map_input(in_dy), detail::map_input(in_a), detail::map_input(in_b));
}

}  // namespace precast::gpu
