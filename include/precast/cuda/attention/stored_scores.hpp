// Launches the three kernels of attention whose scores are in memory.
#pragma once

#include <cstdint>

#include <precast/cuda/attention/plain_kernels.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/attention_kernels.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// Bytes of scores that are in memory at once, where one tile of queries does not need more.
inline constexpr std::int64_t most_stored_bytes = std::int64_t{256} << 20;

/// Tiles of queries of all heads.
inline std::int64_t query_tiles(const AttentionShape& shape) {
  return std::int64_t{ceil_divide(shape.queries, plain_rows)} * shape.heads * shape.batch;
}

}  // namespace detail

/// Attention whose scores and weights are stored in the inside dtype (host::plain_attention's contract). q,
/// k and v are of the problem's sizes. Rounding happens: q, k, v to operand; each score, scaled and
/// biased in f32, to inside; softmax in f32 from these; each weight to inside, then to operand; the result to
/// result. Sums of products are Accumulate. Unless it is null, `log_sums` [B, H, Sq] gets the logarithm of
/// the sum of e^score of each row. Scores take scratch memory of the stream, for at most `stored_bytes` of
/// queries at once; most samples need no more than the default. Throws OutOfMemory, or Error where a launch
/// fails.
template <class Types, class Q, class K, class V>
void attention_by_stored_scores(const AttentionProblem& problem, DeviceHeadsView<const Q> q,
                                DeviceHeadsView<const K> k, DeviceHeadsView<const V> v,
                                DeviceHeadsView<typename Types::result> out, Stream stream,
                                GlobalPointer<f32> log_sums = nullptr,
                                std::int64_t stored_bytes = detail::most_stored_bytes) {
  watch::ran_in<Types>();
  using namespace detail;
  using Operand = typename Types::operand;
  using Accumulate = typename Types::accumulate;
  using Inside = typename Types::inside;
  using Stored = StoredScore<Inside>;
  using Result = typename Types::result;
  if (out.elements() == 0 && !log_sums) return;
  const ScoresArguments<Q, K> given{heads_in(q), heads_in(k), shape_of(problem)};
  const auto values = heads_in(v);
  const auto results = heads_in(out);
  const AttentionShape& shape = given.shape;
  const std::int64_t stride = ceil_divide(problem.keys, widest_vector<Stored>) * widest_vector<Stored>;
  const std::int64_t tiles = query_tiles(shape), tile_values = plain_rows * stride;
  const std::int64_t tile_bytes =
      max_of<std::int64_t>(1, tile_values * static_cast<std::int64_t>(sizeof(Stored)));
  const std::int64_t at_once = max_of<std::int64_t>(1, min_of(stored_bytes / tile_bytes, tiles));
  const StreamScope scope(stream);  // of the scratch memory
  Tensor<Stored, DeviceMemory> scratch(Shape{at_once * tile_values});
  for (std::int64_t first = 0; first < tiles; first += at_once) {
    const std::int64_t count = min_of(at_once, tiles - first);
    const StoredScores<Inside> scores{global_pointer(scratch.data(), scratch.elements()), stride,
                                      checked_int(first, "tiles of queries"), static_cast<int>(count)};
    const auto blocks = [&](std::int64_t of_each) {
      return LaunchShape{{checked_int(count * of_each, "tiles")}, plain_threads, 0};
    };
    LaunchShape grid = blocks(ceil_divide(shape.keys, plain_columns));
    using OfScores = ScoresOperand<Types, Q, K>;
    grid.shared_bytes = PlainProduct<OfScores, Accumulate, false>::shared_bytes;
    launch("attention_scores", &attention_scores_kernel<OfScores, Accumulate, Inside, Types::saturate, Q, K>,
           grid, stream, given, scores);
    launch("attention_weights",
           log_sums ? &attention_weights_kernel<Inside, true> : &attention_weights_kernel<Inside, false>,
           blocks(plain_rows / plain_warps), stream, shape, scores, log_sums);
    grid = blocks(ceil_divide(shape.width_v, plain_columns));
    grid.shared_bytes = ValuesProduct<Operand, Accumulate, Inside, V>::shared_bytes;
    launch("attention_values",
           &attention_values_kernel<Operand, Accumulate, Types::saturate, Inside, V, Result>, grid, stream,
           shape, scores, values, results);
  }
}
}  // namespace precast::gpu
