// Group normalisation of NHWC images, an activation fused into its store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <precast/cuda/device/side.hpp>
#include <precast/cuda/norm/group_moments.hpp>
#include <precast/cuda/norm/narrow_norm.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/norm_kernels.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

template <class From, class W>
struct GroupNormInput {
  MapInput<From> x;
  GlobalPointer<const f32> results;  ///< of group_moments_kernel
  GlobalPointer<const W> scale, shift;
  Divisor pixels, width;
  std::int64_t groups;
};

// Bytes moved: each value read once more and written once, so that a group norm moves 3/2 of the minimum,
// which no kernel reaches whose images are larger than the caches. Statistics and parameters come from the
// caches.
template <int Count, bool Saturates, class Activation, class From, class To, class W>
PRECAST_KERNEL PRECAST_LAUNCH_BOUNDS(map_tile.threads, 1) void group_norm_kernel(MapOutput<To> out,
                                                                                 GroupNormInput<From, W> in) {
  const MapPlace<Count> place = map_place<Count>(out);
  const auto loads = map_loads(in.x, place);  // all are in flight before the first store
  const std::int64_t image = in.pixels.divide(place.row).quotient;
  const std::int64_t first_group = planted<"moments of another image">(image, std::int64_t{0}) * in.groups;
  const auto scales = runs_of_row<Count, const W>(in.scale, place);
  const auto shifts = runs_of_row<Count, const W>(in.shift, place);
  PRECAST_UNROLL
  for (int run = 0; run < map_tile.runs; ++run) {
    const int present = place.present(run);
    const std::int64_t column = place.column(run);
    if (present == 0) continue;
    const auto x = in_f32(loads.runs[run]), scale = in_f32(scales.runs[run]),
               shift = in_f32(shifts.runs[run]);
    Run<f32, Count> y = x;
    const auto normalise = [&](int i, const Vector<f32, 4>& moments) {
      const f32 deviation = (x[i] - moments[0]) - moments[1];
      y[i] = Activation{}(multiply_then_add(deviation, moments[2] * scale[i], shift[i]));
    };
    if (place.aligned) {  // all of the run are in one group
      const auto moments = load_vector<4>(in.results + 4 * (first_group + in.width.divide(column).quotient));
      PRECAST_UNROLL
      for (int i = 0; i < Count; ++i) normalise(i, moments);
    } else {
      PRECAST_UNROLL
      for (int i = 0; i < Count; ++i)
        if (i < present)
          normalise(i, load_vector<4>(in.results + 4 * (first_group + in.width.divide(column + i).quotient)));
    }
    store_rounded<Saturates>(out.data + place.row * out.row_stride + column, y, present, place.aligned);
  }
}

template <int Count, class From>
void group_moments(DeviceView<const From> x, std::int64_t groups, f32 eps, DeviceView<f32> results,
                   Stream stream) {
  const std::int64_t batch = x.shape()[0], pixels = x.shape()[1] * x.shape()[2], width = x.columns() / groups;
  const bool aligned = width % Count == 0 && rows_are_aligned<Count>(x);
  const auto plan = GroupPlan::of(batch, pixels, groups, width, Count);
  const StreamScope scope(stream);  // of the moments
  Tensor<f32, Memory> partial(Shape{batch * groups * plan.chunks.value(), 4});
  constexpr int warps = GroupPlan::threads / threads_per_warp;
  launch("chunk_moments", chunk_moments_kernel<Count, From>,
         {{static_cast<int>(ceil_divide(plan.warps(), warps)), 1, 1}, GroupPlan::threads}, stream,
         pointer_to(x), x.row_stride(), aligned, plan, pointer_to(partial.view()));
  launch("group_moments", group_moments_kernel<GroupPlan::threads>,
         {{static_cast<int>(batch * groups), 1, 1}, GroupPlan::threads}, stream,
         pointer_to(std::as_const(partial).view()), plan.chunks.value(), eps, pointer_to(results));
}

template <int Count, class Types, class From, class W>
void group_norm_with(DeviceView<const From> x, DeviceView<const f32> results, DeviceView<const W> scale,
                     DeviceView<const W> shift, ActivationFunction activation,
                     DeviceView<typename Types::result> out, Stream stream) {
  using To = typename Types::result;
  const std::int64_t pixels = x.shape()[1] * x.shape()[2], groups = results.rows() / x.shape()[0],
                     width = x.columns() / groups;
  constexpr int of_parameters = min_of(Count, widest_vector<W>);
  const bool aligned = width % Count == 0 && rows_are_aligned<Count>(x) && rows_are_aligned<Count>(out) &&
                       rows_are_aligned<of_parameters>(scale) && rows_are_aligned<of_parameters>(shift);
  const MapOutput<To> output{pointer_to(out),
                             out.row_stride(),
                             out.rows(),
                             out.columns(),
                             plan_map(out.rows(), out.columns(), Count),
                             aligned};
  const GroupNormInput<From, W> input{
      map_input(x), pointer_to(results), pointer_to(scale), pointer_to(shift), pixels, width, groups};
  elementwise::visit_activation(activation, [&](auto function) {
    launch("group_norm", group_norm_kernel<Count, Types::saturate, decltype(function), From, To, W>,
           {{static_cast<int>(output.plan.blocks), 1, 1}, map_tile.threads}, stream, output, input);
  });
}

/// Calls `f` with how many values lanes take at once. Groups of half as many channels as 16 bytes hold are
/// what the largest images of a VAE in 16 bits have.
template <class From, class To, class F>
void visit_group_width(std::int64_t width, F&& f) {
  constexpr int count = values_at_once<From, To>;
  if (width % count == 0)
    f(std::integral_constant<int, count>{});
  else
    f(std::integral_constant<int, count / 2>{});
}

}  // namespace detail

/// The moments of each group of neighbouring channels of each image of [B, H, W, C], in f32, to [B *
/// groups, 4]: mean, what is left of it, 1 / sqrt(variance + eps), variance.
template <class From>
void group_moments(DeviceView<const From> x, std::int64_t groups, f32 eps, DeviceView<f32> moments,
                   Stream stream) {
  if (x.elements() == 0) return;
  detail::visit_group_width<From, From>(x.columns() / groups, [&](auto count) {
    detail::group_moments<decltype(count)::value>(x, groups, eps, moments, stream);
  });
}

/// Group normalisation with moments that are given as group_moments writes them.
template <class Types, class From, class W>
void group_norm_with(DeviceView<const From> x, DeviceView<const f32> moments, DeviceView<const W> scale,
                     DeviceView<const W> shift, ActivationFunction activation,
                     DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(!is_narrow<Types>, "group_norm_with keeps its statistics in f32.");
  if (x.elements() == 0) return;
  const std::int64_t width = x.columns() / (moments.rows() / x.shape()[0]);
  detail::visit_group_width<From, typename Types::result>(width, [&](auto count) {
    detail::group_norm_with<decltype(count)::value, Types>(x, moments, scale, shift, activation, out, stream);
  });
}

/// Group normalisation (Wu and He 2018) of [B, H, W, C] in `groups` of neighbouring channels, times scale
/// plus shift, then an activation.
template <class Types, class From, class W>
void group_norm(DeviceView<const From> x, std::int64_t groups, DeviceView<const W> scale,
                DeviceView<const W> shift, f32 eps, ActivationFunction activation,
                DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "group_norm takes its operand as given, or widened to f32.");
  if (x.elements() == 0) return;
  if constexpr (is_narrow<Types>) {
    elementwise::visit_activation(activation, [&]<class F>(F) {
      detail::narrow_norm<Types, true, F>("narrow_group_norm", x, AffineIn<W, DeviceSpace>{scale, shift},
                                          groups, x.shape()[1] * x.shape()[2], true, eps, out, stream);
    });
  } else {
    detail::visit_group_width<From, typename Types::result>(x.columns() / groups, [&](auto count) {
      constexpr int at_once = decltype(count)::value;
      const StreamScope scope(stream);  // of the moments
      Tensor<f32, Memory> moments(Shape{x.shape()[0] * groups, 4});
      detail::group_moments<at_once>(x, groups, eps, moments.view(), stream);
      detail::group_norm_with<at_once, Types>(x, std::as_const(moments).view(), scale, shift, activation, out,
                                              stream);
    });
  }
}

}  // namespace precast::gpu
