// Sums and maxima over the lanes of a warp and the threads of a block: trees of one shape, so that the bits
// of a result depend on nothing but the values.
#pragma once

#include <cstdint>

#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::gpu {

namespace detail {

struct Plus {
  PRECAST_DEVICE static f32 of(f32 a, f32 b) { return a + b; }
};
struct Larger {
  PRECAST_DEVICE static f32 of(f32 a, f32 b) { return maximum(a, b); }
};

template <class Combine, int Lanes>
PRECAST_DEVICE f32 reduce_warp(f32 value) {
  static_assert(Lanes >= 1 && Lanes <= threads_per_warp && (Lanes & (Lanes - 1)) == 0,
                "A group of lanes is a power of two, at most a warp.");
  PRECAST_UNROLL
  for (int distance = Lanes / 2; distance > 0; distance /= 2)
    value = Combine::of(value, shuffle_xor(value, distance));
  return value;
}

template <class Combine, int Threads, class Use>
PRECAST_DEVICE f32 reduce_block(f32 value, Site site) {
  static_assert(Threads % threads_per_warp == 0, "A block is whole warps.");
  constexpr int warps = Threads / threads_per_warp;
  value = reduce_warp<Combine, threads_per_warp>(value);
  if constexpr (warps > 1) {
    const auto of_warps = static_shared<f32, warps, Use>();
    if (lane_index() == 0) of_warps[warp_index()] = value;
    sync_block(site.part(1));
    value = of_warps[0];
    PRECAST_UNROLL
    for (int warp = 1; warp < warps; ++warp) value = Combine::of(value, of_warps[warp]);
  }
  return value;
}

}  // namespace detail

/// The sum over a group of `Lanes` neighbouring lanes, in each of them. All 32 lanes of the warp must call.
template <int Lanes = threads_per_warp>
PRECAST_DEVICE f32 warp_sum(f32 value) {
  return detail::reduce_warp<detail::Plus, Lanes>(value);
}
/// The largest value of a group of lanes; NaN is passed over.
template <int Lanes = threads_per_warp>
PRECAST_DEVICE f32 warp_max(f32 value) {
  return detail::reduce_warp<detail::Larger, Lanes>(value);
}

/// The sum over the `Threads` threads of a block, in each of them; all must call. There is one barrier
/// inside: before a block calls again with the same `Use` (any type, which names the shared memory between
/// the warps), it needs a barrier of its own.
template <int Threads, class Use>
PRECAST_DEVICE f32 block_sum(f32 value, Site site = Site::here()) {
  return detail::reduce_block<detail::Plus, Threads, Use>(value, site);
}
/// The largest value of a block; NaN is passed over.
template <int Threads, class Use>
PRECAST_DEVICE f32 block_max(f32 value, Site site = Site::here()) {
  return detail::reduce_block<detail::Larger, Threads, Use>(value, site);
}
/// The largest value(i) for i in [0, count), in each thread of a block; -inf of none, and NaN is passed over.
template <int Threads, class Use, class Value>
PRECAST_DEVICE f32 largest_in_block(std::int64_t count, Value&& value, Site site = Site::here()) {
  f32 largest = -infinity;
  for (std::int64_t i = thread_index(); i < count; i += Threads) largest = maximum(largest, value(i));
  return block_max<Threads, Use>(largest, site);
}

}  // namespace precast::gpu
