// The statistics of group norms: moments of chunks of pixels by warps, then of whole groups by blocks. Both
// in an order that the shapes alone decide.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/norm/moments.hpp>
#include <precast/error.hpp>
#include <precast/problem/group_moments.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

/// How [batch, pixels, channels] in groups of `width` channels is shared out to warps: `lanes` of one warp
/// take a group's values in a chunk of pixels, the next lanes the next group's, so that a warp reads pieces
/// of neighbouring groups that lie side by side.
struct GroupPlan {
  std::int64_t batch = 0, pixels = 0, groups = 0;
  int width = 0, runs = 0;  ///< channels of a group, and runs of them in a pixel
  int lanes = 0;
  std::int64_t chunk = 0;
  Divisor chunks{}, spans{};

  static constexpr int threads = 128;
  static constexpr int runs_of_lane = 32;
  static constexpr int values_at_once = 32;  ///< of a lane: merged into its moments at once

  static constexpr GroupPlan of(std::int64_t batch, std::int64_t pixels, std::int64_t groups,
                                std::int64_t width, int values_of_run) {
    if (width >> 31)
      throw ShapeError("group_norm: groups of " + std::to_string(width) +
                       " channels, and at most 2^31 are supported");
    GroupPlan plan{batch, pixels, groups, static_cast<int>(width)};
    plan.runs = ceil_divide(plan.width, values_of_run);
    const std::int64_t most = min_of<std::int64_t>(groups, 4);
    const int groups_of_warp = most == 3 ? 2 : static_cast<int>(most);
    plan.lanes = threads_per_warp / groups_of_warp;
    plan.chunk = max_of(1, runs_of_lane * plan.lanes / plan.runs);
    plan.chunks = ceil_divide(pixels, plan.chunk);
    plan.spans = ceil_divide(groups, groups_of_warp);
    return plan;
  }
  std::int64_t warps() const { return batch * chunks.value() * spans.value(); }
};

/// The moments of (image, group, chunk) as 16 bytes: what Moments has, in its order.
inline constexpr int stored_moments = 4;
PRECAST_DEVICE void store_moments(GlobalPointer<f32> to, std::int64_t place, const Moments& moments) {
  store_vector_global(
      to + stored_moments * place,
      Vector<f32, stored_moments>{{moments.mean, moments.rest, moments.squares, moments.count}});
}
PRECAST_DEVICE Moments load_moments(GlobalPointer<const f32> from, std::int64_t place) {
  const auto values = load_vector<stored_moments>(from + stored_moments * place);
  return {values[0], values[1], values[2], values[3]};
}

/// The results of groups: GroupMoments. Views of them are a program's own, of any stride and alignment.
template <class T>
struct GroupResults {
  static constexpr int columns = GroupMoments::columns;
  GlobalPointer<T> data;
  std::int64_t stride;
  bool aligned;

  PRECAST_DEVICE auto load(std::int64_t group) const {
    return load_run<columns>(GlobalPointer<const f32>(data + group * stride), columns, aligned);
  }
  PRECAST_DEVICE void store(std::int64_t group, const Run<f32, columns>& values) const {
    store_run(data + group * stride, values, columns, aligned);
  }
};
template <class T>
GroupResults<T> group_results(const DeviceView<T>& view) {
  return {pointer_to(view), view.row_stride(), rows_are_aligned<GroupMoments::columns>(view)};
}

/// Iterates over a lane's runs of its group in a chunk, in steps of `lanes`, without dividing an index.
template <int Count>
class ChunkRuns {
 public:
  PRECAST_DEVICE ChunkRuns(const GroupPlan& plan, std::int64_t stride, int member)
      : runs_(plan.runs),
        run_(member % plan.runs),
        run_step_(plan.lanes % plan.runs),
        offset_(member / plan.runs * stride + run_ * Count),
        step_(plan.lanes / plan.runs * stride + run_step_ * Count),
        to_next_pixel_(stride - static_cast<std::int64_t>(plan.runs) * Count) {}

  /// The offset of the run's first value from the chunk's first.
  PRECAST_DEVICE std::int64_t offset() const { return offset_; }
  /// The run's first channel within the group.
  PRECAST_DEVICE int channel() const { return run_ * Count; }
  PRECAST_DEVICE void advance() {
    run_ += run_step_;
    offset_ += step_;
    if (run_ < runs_) return;
    run_ -= runs_;
    offset_ += planted<"next pixel's runs">(to_next_pixel_, std::int64_t{0});
  }

 private:
  int runs_, run_, run_step_;
  std::int64_t offset_, step_, to_next_pixel_;
};

// Bytes moved: each value read once, the minimum, and 16 bytes written for 128 runs of 16 bytes or more.
template <int Count, class From>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(GroupPlan::threads, 1)
    chunk_moments_kernel(GlobalPointer<const From> x, std::int64_t stride, bool aligned, GroupPlan plan,
                         GlobalPointer<f32> partial) {
  const std::int64_t warp =
      static_cast<std::int64_t>(block_index().x) * (GroupPlan::threads / threads_per_warp) + warp_index();
  const auto [chunk_of_batch, span] = plan.spans.divide(warp);
  const auto [image, chunk] = plan.chunks.divide(chunk_of_batch);
  const int member = lane_index() % plan.lanes;
  const std::int64_t group = span * (threads_per_warp / plan.lanes) + lane_index() / plan.lanes;
  const bool exists = image < plan.batch && group < plan.groups;
  const std::int64_t first_pixel = chunk * plan.chunk;
  const std::int64_t left_pixels =
      planted<"chunk past the image's end">(plan.pixels - first_pixel, plan.chunk);
  const int items = exists ? static_cast<int>(min_of(plan.chunk, left_pixels)) * plan.runs : 0;
  const GlobalPointer<const From> from =
      x + (image * plan.pixels + first_pixel) * stride + group * plan.width;

  constexpr int at_once = GroupPlan::values_at_once / Count;
  ChunkRuns<Count> place(plan, stride, member);
  // The moments of the next runs: Whole, if all of them exist in full; else of the values that exist.
  const auto moments_of_next = [&]<bool Whole>(int first) {
    Run<From, Count> loads[at_once];
    int present[at_once];
    PRECAST_UNROLL
    for (int i = 0; i < at_once; ++i, place.advance()) {
      const int left = plan.width - place.channel();
      present[i] = Whole ? Count : first + i * plan.lanes < items ? min_of(left, Count) : 0;
      loads[i] = load_run<Count>(from + place.offset(), present[i], Whole || aligned);
    }
    Run<f32, Count> values[at_once];
    PRECAST_UNROLL
    for (int i = 0; i < at_once; ++i) values[i] = in_f32(loads[i]);
    return moments_of<Whole>(values, present);
  };
  Moments moments;
  for (int first = member; first < items; first += at_once * plan.lanes) {
    // Aligned runs are whole: a group's width is a multiple of theirs.
    const bool whole = aligned && first + (at_once - 1) * plan.lanes < items;
    moments = merged(moments, whole ? moments_of_next.template operator()<true>(first)
                                    : moments_of_next.template operator()<false>(first));
  }
  moments = merged_lanes(moments, plan.lanes);
  if (exists && member == 0)
    store_moments(partial, (image * plan.groups + group) * plan.chunks.value() + chunk, moments);
}

// Bytes moved: 16 read for each chunk of a group and 16 written for the group, the minimum.
// One block per group of an image.
template <int Threads>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(Threads, 1)
    group_moments_kernel(GlobalPointer<const f32> partial, std::int64_t chunks, f32 eps,
                         GroupResults<f32> results) {
  constexpr int warps = Threads / threads_per_warp;
  const std::int64_t group = block_index().x;
  Moments moments;
  for (std::int64_t chunk = thread_index(); chunk < chunks; chunk += Threads)
    moments = merged(moments, load_moments(partial, group * chunks + chunk));
  moments = merged_lanes(moments, threads_per_warp);
  const auto of_warps = static_shared<Moments, warps, struct WarpMoments>();
  if (lane_index() == 0) of_warps[warp_index()] = moments;
  sync_block();
  if (thread_index() != 0) return;
  PRECAST_UNROLL
  for (int warp = 1; warp < warps; ++warp) moments = merged(moments, of_warps[warp]);
  const f32 variance = moments.squares / moments.count;
  Run<f32, GroupMoments::columns> found;
  found[GroupMoments::mean] = moments.mean;
  found[GroupMoments::rest] = moments.rest;
  found[GroupMoments::inverse_deviation] = 1.0f / square_root(variance < 0 ? eps : variance + eps);
  found[GroupMoments::variance] = variance;
  results.store(group, found);
}

}  // namespace precast::gpu::detail
