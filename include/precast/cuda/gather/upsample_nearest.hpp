// Nearest-neighbour enlargement of NHWC images.
#pragma once

#include <cstdint>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/gather_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// The factor, and the sizes of the input and output images.
struct UpsampleSizes {
  std::int64_t factor, in_height, in_width, out_height, out_width;
};

// Bytes moved: each value read once and written factor^2 times, the minimum: the thread that has read a run
// writes all of its copies. `in` describes the rows, columns and plan of what is read.
template <int Count, bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1)
    upsample_nearest_kernel(MapOutput<const From> in, DeviceRows<To> out, UpsampleSizes sizes) {
  const MapPlace<Count> place = map_place<Count>(in);
  const auto [line, pixel] = divide_index(place.row, sizes.in_width);
  const auto [image, line_of_image] = divide_index(line, sizes.in_height);
  const std::int64_t top = line_of_image * sizes.factor,
                     left = pixel * planted<"pixels side by side">(sizes.factor, std::int64_t{1});
  const std::int64_t bottom = planted<"rows past the edge">(min_of(top + sizes.factor, sizes.out_height),
                                                            top + sizes.factor),
                     right = planted<"columns past the edge">(min_of(left + sizes.factor, sizes.out_width),
                                                              left + sizes.factor);
  PRECAST_UNROLL
  for (int run = 0; run < map_tile.runs; ++run) {
    const int present = place.present(run);
    const std::int64_t column = place.column(run);
    if (present == 0) continue;
    const auto x = load_run<Count>(in.data + place.row * in.row_stride + column, present, place.aligned);
    Run<To, Count> y{};
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) y.set(i, Cast<To, Saturates>{}(x[i]));
    for (std::int64_t row = top; row < bottom; ++row)
      for (std::int64_t to = left; to < right; ++to)
        store_run(out.row((image * sizes.out_height + row) * sizes.out_width + to) + column, y, present,
                  place.aligned);
  }
}

}  // namespace detail

/// Each pixel of x [B, H, W, C] becomes factor x factor pixels of out [B, H', W', C], except those beyond
/// its edges.
template <class Types, class From>
void upsample_nearest(DeviceView<const From> x, std::int64_t factor, DeviceView<typename Types::result> out,
                      Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>;
  if (x.elements() == 0) return;
  const detail::MapOutput<const From> input{pointer_to(x),
                                            x.row_stride(),
                                            x.rows(),
                                            x.columns(),
                                            plan_map(x.rows(), x.columns(), count),
                                            rows_are_aligned<count>(x) && rows_are_aligned<count>(out)};
  launch("upsample_nearest", detail::upsample_nearest_kernel<count, Types::saturate, From, To>,
         {{grid_blocks(input.plan.blocks), 1, 1}, map_tile.threads}, stream, input, DeviceRows<To>(out),
         detail::UpsampleSizes{factor, x.shape()[1], x.shape()[2], out.shape()[1], out.shape()[2]});
}

}  // namespace precast::gpu
