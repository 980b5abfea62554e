// The rests of logarithms of sums: the logarithm of the sum of a row's weights when these are computed from
// its log_sum. Scores are those of the gradients' kernels, to the bit. The forward may have summed their
// products in another order, and differ by units of its partial sums, which are far larger where products
// cancel. So every row has a rest where gradients go value by value, and in f32 tiles where the forward's
// tensor cores multiplied 16 bits (ExactOperand). Other tiles multiply as the forward does: only large
// logarithms, which rounding took something of, need a rest there.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/attention_products.hpp>
#include <precast/cuda/attention/attention_scores.hpp>
#include <precast/cuda/attention/gradient_tile.hpp>
#include <precast/cuda/attention/online_softmax.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/shared_tile.hpp>
#include <precast/cuda/tile/tile_loader.hpp>
#include <precast/dtype/exact_operand.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
#include <precast/problem/math.hpp>

namespace precast::gpu::detail {

/// The rest of a row whose sum of e^(score - largest) is `sum`; 0 where it has no weights.
PRECAST_DEVICE f32 rest_of_log_sum(f32 log_sum, f32 largest, f32 sum) {
  if (!(sum > 0)) return 0.0f;
  return planted<"log sum not subtracted">(base_of_scores(largest) - log_sum, 0.0f) + logf(sum);
}

// One warp per query.
template <class Types, class ForwardOperand, class Q, class K>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(threads_per_warp, 1)
    rests_kernel(ScoresOf<Q, K> of, GlobalPointer<const f32> log_sums, GlobalPointer<f32> rests) {
  const f32 log_sum = log_sums[block_index().x];
  f32 largest = -infinity, sum = 0;
  if (is_finite(log_sum)) {
    const DividedIndex row = divide_index(block_index().x, of.queries);
    // No bindings: a lambda of clang's captures none.
    const DividedIndex place = divide_index(row.quotient, of.heads);
    const auto score = [&](std::int64_t key) {
      return of.template score<Types, ForwardOperand>(place.quotient, place.rest, row.rest, key);
    };
    for (std::int64_t key = lane_index(); key < of.keys; key += threads_per_warp)
      largest = maximum(largest, score(key));
    largest = warp_max(largest);
    for (std::int64_t key = lane_index(); key < of.keys; key += threads_per_warp)
      sum += math::exp_of_negative(score(key) -
                                   planted<"largest not subtracted">(base_of_scores(largest), 0.0f));
    sum = warp_sum(sum);
  }
  if (lane_index() == 0) rests[block_index().x] = rest_of_log_sum(log_sum, largest, sum);
}

template <class Q, class K>
struct TiledRestsArguments {
  Heads<const Q> q;
  Heads<const K> k;
  AttentionShape shape;
  GlobalPointer<const f32> log_sums;  ///< of all rows of scores
  GlobalPointer<f32> rests;           ///< the same
};

/// One block per tile of queries, which loops over the keys that they see. Bytes moved: queries once, and
/// keys once for every 64 queries, where a tile has a row with a rest; else the logarithms alone.
template <class Types, class ForwardOperand, int Width, class Q, class K>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(GradientTile{}.threads(), 2)
    tiled_rests_kernel(const TiledRestsArguments<Q, K> given) {
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
  const std::int64_t first_of_head = shape.row_of_scores(batch, head, 0);
  constexpr bool adds_as_the_forward = std::is_same_v<ExactOperand<ForwardOperand, Q, K>, ForwardOperand>;
  const auto has_rest = [](f32 log_sum) {
    return adds_as_the_forward ? is_coarse_log_sum(log_sum) : is_finite(log_sum);
  };
  bool any = false;  // each warp looks through all rows: they stay or leave together
  for (int query = first + lane_index(); query <= last_query; query += threads_per_warp)
    any = any || has_rest(given.log_sums[first_of_head + query]);
  if (warp_ballot(any) == 0) {
    for (int query = first + thread_index(); query <= last_query; query += threads)
      given.rests[first_of_head + query] = 0.0f;
    return;
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
      const f32 base = planted<"largest not subtracted">(base_of_scores(now), 0.0f);
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
    if (query <= last_query && lane_index() % Scores::row_lanes == 0) {
      const f32 log_sum = given.log_sums[first_of_head + query];
      given.rests[first_of_head + query] =
          has_rest(log_sum) ? rest_of_log_sum(log_sum, largest[i], sum) : 0.0f;
    }
  }
}

}  // namespace precast::gpu::detail
