// Batches of attention that are packed together: a few at a time, so that the packed copies stay small.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/tensor/heads_view.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::host::detail {

/// Calls f(part of the problem, its first batch) for batches that are packed together: as many as fit the
/// threads' caches, where they are read again, or a few heads for each thread; more than 64 MiB only where
/// a thread would have no work. No bit depends on them.
template <class F>
void for_packed_batches(const AttentionProblem& problem, std::int64_t bytes_of_batch, F&& f) {
  constexpr std::int64_t most_bytes = std::int64_t{64} << 20, cache_bytes = std::int64_t{1} << 20;
  const auto that_fit = [&](std::int64_t bytes) { return bytes / std::max<std::int64_t>(bytes_of_batch, 1); };
  const auto enough_for = [&](std::int64_t heads_of_thread) {
    return ceil_divide(heads_of_thread * threads(), problem.heads_kv);
  };
  const std::int64_t few = std::max(that_fit(cache_bytes * threads()), enough_for(16)),
                     at_once =
                         std::max({std::min(few, that_fit(most_bytes)), enough_for(4), std::int64_t{1}});
  for (std::int64_t first = 0; first < problem.batch; first += at_once) {
    AttentionProblem part = problem;
    part.batch = std::min(at_once, problem.batch - first);
    f(part, first);
  }
}

/// The heads of some batches.
template <class T>
HostHeadsView<T> batches_between(const HostHeadsView<T>& all, std::int64_t first, std::int64_t count) {
  return {all.data() + first * all.strides().batch, Shape{count, all.rows(), all.heads(), all.width()},
          all.strides()};
}

/// Calls f(part of the problem, its q, k, v, out and log_sums) for batches whose keys and values are Packed
/// together. `log_sums` are [B, H, Sq], or null.
template <class Packed, class Q, class K, class V, class O, class F>
void for_packed_attention(const AttentionProblem& problem, const HostHeadsView<Q>& q,
                          const HostHeadsView<K>& k, const HostHeadsView<V>& v, const HostHeadsView<O>& out,
                          f32* log_sums, F&& f) {
  for_packed_batches(
      problem, Packed::bytes_of_batch(problem), [&](const AttentionProblem& part, std::int64_t first) {
        const auto of_part = [&](const auto& heads) { return batches_between(heads, first, part.batch); };
        f(part, of_part(q), of_part(k), of_part(v), of_part(out),
          log_sums ? log_sums + first * problem.heads * problem.queries : nullptr);
      });
}

}  // namespace precast::host::detail
