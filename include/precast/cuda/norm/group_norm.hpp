// Group normalisation of NHWC images, an activation fused into its store.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/norm/group_moments.hpp>
#include <precast/cuda/norm/narrow_norm.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/group_moments.hpp>
#include <precast/problem/norm_kernels.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// How images' runs of channels are shared out: neighbouring threads take neighbouring runs, and each of
/// them its run in several pixels, `slots` apart, for which it reads moments and parameters once.
struct PixelPlan {
  std::int64_t batch, pixels, columns, slots;
  Divisor runs, threads_of_image;

  static constexpr int threads = 256, least_blocks = 3;     ///< of a multiprocessor: 48 KB in flight
  static constexpr int at_once = 4;                         ///< pixels that are read before any is used
  static constexpr std::int64_t most_pixels = 4 * at_once;  ///< of a thread
  static constexpr std::int64_t busy_threads = std::int64_t{1} << 17;  ///< that keep all of a device busy

  /// A thread takes several pixels where `least_threads` are left.
  static PixelPlan of(std::int64_t batch, std::int64_t pixels, std::int64_t columns, int values_of_run,
                      std::int64_t least_threads = busy_threads) {
    const std::int64_t runs = ceil_divide(columns, values_of_run);
    const std::int64_t each = std::clamp<std::int64_t>(batch * pixels * runs / least_threads, 1, most_pixels);
    const std::int64_t slots = ceil_divide(pixels, each);
    return {batch, pixels, columns, slots, runs, slots * runs};
  }
  std::int64_t blocks() const { return ceil_divide(batch * threads_of_image.value(), threads); }
};

template <class From, class W>
struct GroupNormInput {
  MapInput<From> x;
  GroupResults<const f32> moments;
  GlobalPointer<const W> scale, shift;
  Divisor width;
  std::int64_t groups;
  bool aligned;  ///< all other arrays are
};

/// The factors that normalise each of a thread's channels: (x - mean) * factor + shift, where the shift
/// includes the rest of the mean.
template <int Count>
struct ChannelFactors {
  Run<f32, Count> mean{}, factor{}, shift{};
};

template <int Count, class From, class W>
PRECAST_DEVICE ChannelFactors<Count> channel_factors(const GroupNormInput<From, W>& in, std::int64_t image,
                                                     std::int64_t column, int present) {
  ChannelFactors<Count> factors;
  const auto scale = load_run<Count>(in.scale + column, present, in.aligned),
             shift = load_run<Count>(in.shift + column, present, in.aligned);
  auto [group, channel] = in.width.divide(column);
  group += planted<"moments of another image">(image, std::int64_t{0}) * in.groups;
  PRECAST_UNROLL
  for (int i = 0; i < Count; ++i) {
    if (i >= present) continue;
    const auto moments = in.moments.load(group);
    factors.mean[i] = moments[GroupMoments::mean];
    factors.factor[i] = moments[GroupMoments::inverse_deviation] * to_f32(scale[i]);
    factors.shift[i] = multiply_then_add(-planted<"rest of the mean">(moments[GroupMoments::rest], 0.0f),
                                         factors.factor[i], to_f32(shift[i]));
    if (++channel == in.width.value()) ++group, channel = 0;
  }
  return factors;
}

// Bytes moved: each value read once more and written once, so that a group norm moves 3/2 of the minimum,
// which no kernel reaches whose images are larger than the caches. Statistics and parameters come from the
// caches.
template <int Count, bool Saturates, class Activation, class From, class To, class W>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(PixelPlan::threads, PixelPlan::least_blocks)
    group_norm_kernel(DeviceRows<To> out, GroupNormInput<From, W> in, PixelPlan plan) {
  const auto [image, in_image] = plan.threads_of_image.divide(
      static_cast<std::int64_t>(block_index().x) * PixelPlan::threads + thread_index());
  if (image >= plan.batch) return;
  const auto [slot, run] = plan.runs.divide(in_image);
  const std::int64_t column = run * Count, left = plan.columns - column;
  const int present = planted<"last run">(left >= Count, left > 0) ? Count : static_cast<int>(left);
  const auto factors = channel_factors<Count>(in, image, column, present);
  for (std::int64_t first = slot; first < plan.pixels; first += PixelPlan::at_once * plan.slots) {
    Run<From, Count> loads[PixelPlan::at_once];
    std::int64_t row[PixelPlan::at_once];
    int values[PixelPlan::at_once];
    PRECAST_UNROLL
    for (int i = 0; i < PixelPlan::at_once; ++i) {
      const std::int64_t pixel = first + i * plan.slots;
      values[i] = planted<"pixels of the next image">(pixel < plan.pixels, true) ? present : 0;
      row[i] = image * plan.pixels + pixel;
      loads[i] = load_run<Count>(in.x.data + in.x.row_offset(row[i]) + column, values[i], in.aligned);
    }
    PRECAST_UNROLL
    for (int i = 0; i < PixelPlan::at_once; ++i) {
      Run<f32, Count> y = in_f32(loads[i]);
      PRECAST_UNROLL
      for (int c = 0; c < Count; ++c)
        y[c] = Activation{}(multiply_then_add(y[c] - factors.mean[c], factors.factor[c], factors.shift[c]));
      store_rounded<Saturates>(out.row(row[i]) + column, y, values[i], in.aligned);
    }
  }
}

template <int Count, class From>
void group_moments(DeviceView<const From> x, std::int64_t groups, f32 eps, DeviceView<f32> results,
                   Stream stream) {
  const std::int64_t batch = x.shape()[0], pixels = x.shape()[1] * x.shape()[2], width = x.columns() / groups;
  const bool aligned = width % Count == 0 && rows_are_aligned<Count>(x);
  const auto plan = GroupPlan::of(batch, pixels, groups, width, Count);
  const StreamScope scope(stream);  // of the moments
  Tensor<f32, Memory> partial(Shape{batch * groups * plan.chunks.value(), stored_moments});
  constexpr int warps = GroupPlan::threads / threads_per_warp;
  launch("chunk_moments", chunk_moments_kernel<Count, From>,
         {{grid_blocks(ceil_divide(plan.warps(), warps)), 1, 1}, GroupPlan::threads}, stream, pointer_to(x),
         x.row_stride(), aligned, plan, pointer_to(partial.view()));
  launch("group_moments", group_moments_kernel<GroupPlan::threads>,
         {{grid_blocks(batch * groups), 1, 1}, GroupPlan::threads}, stream,
         pointer_to(std::as_const(partial).view()), plan.chunks.value(), eps, group_results(results));
}

template <class Types, class From, class W>
void group_norm_with(DeviceView<const From> x, DeviceView<const f32> results, DeviceView<const W> scale,
                     DeviceView<const W> shift, ActivationFunction activation,
                     DeviceView<typename Types::result> out, Stream stream,
                     std::int64_t least_threads = PixelPlan::busy_threads) {
  using To = typename Types::result;
  constexpr int count = values_at_once<From, To>, of_parameters = min_of(count, widest_vector<W>);
  const std::int64_t batch = x.shape()[0], groups = results.rows() / batch;
  const bool aligned = rows_are_aligned<count>(x) && rows_are_aligned<count>(out) &&
                       rows_are_aligned<of_parameters>(scale) && rows_are_aligned<of_parameters>(shift);
  const GroupNormInput<From, W> input{.x = map_input(x),
                                      .moments = group_results(results),
                                      .scale = pointer_to(scale),
                                      .shift = pointer_to(shift),
                                      .width = x.columns() / groups,
                                      .groups = groups,
                                      .aligned = aligned};
  const auto plan = PixelPlan::of(batch, x.shape()[1] * x.shape()[2], x.columns(), count, least_threads);
  elementwise::visit_activation(activation, [&](auto function) {
    launch("group_norm", group_norm_kernel<count, Types::saturate, decltype(function), From, To, W>,
           {{grid_blocks(plan.blocks()), 1, 1}, PixelPlan::threads}, stream, DeviceRows<To>(out), input,
           plan);
  });
}

/// Calls `f` with the number of values of a group that a lane reads at once, so that a group is whole runs:
/// groups of 10 channels are what the largest images of UNets have, groups of 4 those of a VAE.
template <class From, class F>
void visit_group_width(std::int64_t width, F&& f) {
  constexpr int most = values_at_once<From>;
  if (width % most == 0) return f(std::integral_constant<int, most>{});
  if constexpr (most > 4)
    if (width % 4 == 0) return f(std::integral_constant<int, 4>{});
  f(std::integral_constant<int, 2>{});
}

}  // namespace detail

/// The moments of each group of neighbouring channels of each image of [B, H, W, C], to [B * groups, 4]:
/// GroupMoments.
template <class From>
void group_moments(DeviceView<const From> x, std::int64_t groups, f32 eps, DeviceView<f32> moments,
                   Stream stream) {
  if (x.elements() == 0) return;
  detail::visit_group_width<From>(x.columns() / groups, [&](auto count) {
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
  detail::group_norm_with<Types>(x, moments, scale, shift, activation, out, stream);
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
      detail::narrow_norm<Types, Around::mean, F>(
          "narrow_group_norm", x, AffineIn<W, DeviceSpace>{scale, shift},
          detail::NarrowSets{.across = groups, .pixels = x.shape()[1] * x.shape()[2]}, eps, out, stream);
    });
  } else {
    const StreamScope scope(stream);  // of the moments
    Tensor<f32, Memory> moments(group_moments_shape(x.shape()[0], groups));
    group_moments(x, groups, eps, moments.view(), stream);
    detail::group_norm_with<Types>(x, std::as_const(moments).view(), scale, shift, activation, out, stream);
  }
}

}  // namespace precast::gpu
