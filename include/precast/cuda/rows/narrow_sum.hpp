// A block's sum in a dtype narrower than f32 (problem/narrow_steps.hpp says in which order).
#pragma once

#include <cstdint>

#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/problem/narrow_steps.hpp>

namespace precast::gpu::detail {

/// The sum of `term(i)` for i in [0, count) in Types::accumulate, in each thread of a block of
/// narrow_partial_sums. A block calls this once per `Use`.
template <class Types, class Use, class Term>
PRECAST_DEVICE f32 narrow_block_sum(std::int64_t count, Term&& term, Site site = Site::here()) {
  const auto partial = static_shared<f32, narrow_partial_sums, Use>();
  const auto add = [](f32 sum, f32 value) {
    return planted<"accumulate ignored">(narrow_add<Types>(sum, value), sum + value);
  };
  f32 sum = 0;
  for (std::int64_t i = thread_index(); i < count; i += narrow_partial_sums) sum = add(sum, term(i));
  partial[thread_index()] = sum;
  sync_block(site.part(1));
  f32 total = 0;
  for (int i = 0; i < narrow_partial_sums; ++i) total = add(total, partial[i]);
  return total;
}

}  // namespace precast::gpu::detail
