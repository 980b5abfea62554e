// The probe for the largest score of an attention, for the watch hook.
#pragma once

#include <cstdint>

#include <precast/cuda/attention/stored_scores.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/attention_kernels.hpp>

namespace precast::gpu {

/// The largest |scaled and biased score| in f32 of those that no bias of -inf masks, NaN passed over: what
/// `inside` has to hold. Waits for the stream.
template <class Q, class K>
f32 largest_score(const AttentionProblem& problem, DeviceHeadsView<const Q> q, DeviceHeadsView<const K> k,
                  Stream stream) {
  using namespace detail;
  const ScoresArguments<Q, K> given{heads_in(q), heads_in(k), shape_of(problem)};
  const StreamScope scope(stream);  // of the memory and its copies
  const f32 none = 0;
  BufferIn<DeviceMemory> largest(sizeof(f32));
  largest.upload(0, &none, sizeof none);
  const std::int64_t tiles = query_tiles(given.shape) * ceil_divide(problem.keys, plain_columns);
  launch("largest_score", &largest_score_kernel<Q, K>,
         {{checked_int(tiles, "tiles")}, plain_threads, PlainProduct<f32, f32, false>::shared_bytes}, stream,
         given, global_pointer(reinterpret_cast<std::uint32_t*>(largest.data()), 1));
  f32 most = 0;
  DeviceMemory::copy_to_host(&most, largest.data(), sizeof most);
  return most;
}

}  // namespace precast::gpu
