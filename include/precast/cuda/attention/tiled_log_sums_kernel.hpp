// The logarithms of the sums of e^score of each row, in tiles: a block takes a tile of queries through the
// keys that they see, and keeps the largest score and the sum of each row. The gradients start it once more
// for what rounding has taken of those logarithms.
#pragma once

#include <cstdint>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/attention_products.hpp>
#include <precast/cuda/attention/gradient_tile.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/shared_tile.hpp>
#include <precast/cuda/tile/tile_loader.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
#include <precast/problem/math.hpp>

namespace precast::gpu::detail {

template <class Q, class K>
struct TiledLogSumsArguments {
  Heads<const Q> q;
  Heads<const K> k;
  AttentionShape shape;
  GlobalPointer<f32> log_sums;  ///< of all rows of scores; their rests where `rounded` is given
  GlobalPointer<const f32> rounded = nullptr;  ///< the log_sums of before

  /// What is kept of a row whose sum of e^(score - largest) is `sum`.
  PRECAST_DEVICE f32 result(std::int64_t row, f32 largest, f32 sum) const {
    if (!rounded) return largest == -infinity && sum == 0 ? -infinity : base_of(largest) + logf(sum);
    const f32 log_sum = rounded[row];
    if (!is_coarse_log_sum(log_sum) || sum == 0) return 0.0f;
    return planted<"log sum not subtracted">(base_of(largest) - log_sum, 0.0f) + logf(sum);
  }
  PRECAST_DEVICE static f32 base_of(f32 largest) { return largest == -infinity ? 0.0f : largest; }
};

/// One block a tile of queries. Scores are those of the gradients' kernels, to the bit. Bytes moved: queries
/// once, and keys once for every 64 queries; rests of a tile without a coarse logarithm read those alone.
template <class Types, class ForwardOperand, int Width, class Q, class K>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(GradientTile{}.threads(), 2)
    tiled_log_sums_kernel(const TiledLogSumsArguments<Q, K> given) {
  using Operand = typename Types::operand;
  using Element = HeldDtype<Operand>;
  constexpr GradientTile tile = select_gradient_tile(Width, sizeof(Element));
  constexpr int threads = tile.threads();
  using Queries = SharedTile<Element, tile.rows, Width>;
  using Keys = SharedTile<Element, tile.others, Width>;
  using Products = AttentionProducts<Operand, tile.rows_of_warp(), tile.others, Width, Types::saturate>;
  using Scores = typename Products::Scores;
  const AttentionShape& shape = given.shape;
  const int tiles = ceil_divide(shape.queries, tile.rows);
  const int head = block_index().x / tiles % shape.heads, batch = block_index().x / tiles / shape.heads;
  // The last queries see most keys: the longest start first.
  const int first = (tiles - 1 - block_index().x % tiles) * tile.rows;
  const int last_query = min_of(first + tile.rows, shape.queries) - 1;
  const int steps = ceil_divide(shape.keys_seen_by(last_query), tile.others);
  const std::int64_t first_of_head = (std::int64_t{batch} * shape.heads + head) * shape.queries;
  if (given.rounded) {
    bool coarse = false;  // each warp looks through all rows: they stay or leave together
    for (int query = first + lane_index(); query <= last_query; query += threads_per_warp)
      coarse = coarse || is_coarse_log_sum(given.rounded[first_of_head + query]);
    if (warp_ballot(coarse) == 0) {
      for (int query = first + thread_index(); query <= last_query; query += threads)
        given.log_sums[first_of_head + query] = 0.0f;
      return;
    }
  }

  const Queries queries{dynamic_shared<Element>(0, Queries::size)};
  const auto buffer = [&](int step) {
    const int at = planted<"stage index">(step, step / 2) % tile.stages;
    return Keys{dynamic_shared<Element>(
        sizeof(Element) * static_cast<std::size_t>(Queries::size + at * Keys::size), Keys::size)};
  };
  const TileLoader<ForwardOperand, Types::saturate, Queries, threads, HeadRows<Q>> load_queries(
      given.q.rows(batch, head));
  const TileLoader<ForwardOperand, Types::saturate, Keys, threads, HeadRows<K>> load_keys(
      given.k.rows(batch, shape.kv_head(head)));
  const auto start = [&](int step) {
    if (step >= steps) return;
    load_keys.start(buffer(step), step * tile.others);
    cp_async_commit();
  };

  if (steps > 0) load_queries.start(queries, first);
  start(0);
  const int first_row = warp_index() * planted<"rows of a warp">(tile.rows_of_warp(), 0);
  f32 largest[Scores::rows], sums[Scores::rows];
  PRECAST_UNROLL
  for (int i = 0; i < Scores::rows; ++i) largest[i] = -infinity, sums[i] = 0;
  PRECAST_KEEP_LOOP
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<0>();
    if (step == 0) load_queries.landed(queries);
    load_keys.landed(buffer(step));
    sync_block();  // the tiles are there for all, and all are done with that before, whose place is free
    start(step + 1);
    Scores scores{};
    Products::scores(scores, queries, first_row, buffer(step));
    PRECAST_UNROLL
    for (int i = 0; i < Scores::rows; ++i) {
      const int query = first + first_row + Scores::row(i);
      f32 best = -infinity;
      PRECAST_UNROLL
      for (int j = 0; j < Scores::columns; ++j) {
        const int key = step * tile.others + Scores::column(j);
        const bool seen = key < planted<"keys past the end">(shape.keys, shape.keys + tile.others) &&
                          shape.sees(query, key);
        const f32 scaled = math::rounded_product(scores.at(i, j), shape.scale);
        scores.at(i, j) =
            seen ? planted<"inside ignored">(rounded<typename Types::inside, Types::saturate>(scaled), scaled)
                 : -infinity;
        best = maximum(best, scores.at(i, j));
      }
      const f32 now = maximum(largest[i], warp_max<Scores::row_lanes>(best));
      const f32 base = planted<"largest not subtracted">(given.base_of(now), 0.0f);
      f32 sum = sums[i] * planted<"sum not rescaled">(math::exp_of_negative(largest[i] - base), 1.0f);
      PRECAST_UNROLL
      for (int j = 0; j < Scores::columns; ++j) sum += math::exp_of_negative(scores.at(i, j) - base);
      largest[i] = now;
      sums[i] = sum;
    }
  }

  PRECAST_UNROLL
  for (int i = 0; i < Scores::rows; ++i) {
    const f32 sum = warp_sum<Scores::row_lanes>(sums[i]);
    const int query = first + first_row + Scores::row(i);
    if (query <= last_query && lane_index() % Scores::row_lanes == 0)
      given.log_sums[first_of_head + query] = given.result(first_of_head + query, largest[i], sum);
  }
}

}  // namespace precast::gpu::detail
