// Flash attention forward (Dao et al. 2022; the division of work among warps of Dao 2023): a block takes a
// tile of queries of one head through all of its keys. Scores live in registers.
#pragma once

#include <bit>
#include <cstdint>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/attention_products.hpp>
#include <precast/cuda/attention/finish_results.hpp>
#include <precast/cuda/attention/finish_scores.hpp>
#include <precast/cuda/attention/online_softmax.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/flash_attention_tile.hpp>
#include <precast/cuda/tile/selector.hpp>
#include <precast/cuda/tile/shared_tile.hpp>
#include <precast/cuda/tile/tile_loader.hpp>

namespace precast::gpu {

namespace detail {

template <class Q, class K, class V, class Result>
struct FlashArguments {
  Heads<const Q> q;
  Heads<const K> k;
  Heads<const V> v;
  Heads<Result> out;
  AttentionShape shape;
  GlobalPointer<f32> log_sums;  ///< of all rows of scores; null where nobody needs them
};

}  // namespace detail

/// One block a tile of queries; blocks are numbered by tile, then head, then sample. Tiles of keys and of
/// values take turns in a ring of tile.stages buffers: a block waits for one, starts the copy that comes
/// tile.stages - 1 later, and computes. Bytes moved: q and out once, k and v once for every tile.queries
/// rows. `WholeWeights`: weights keep their f32, where q, k and v are multiplied in the 16 bits that they
/// have.
template <class Operand, bool WholeWeights, int Width, class Selector, bool Biased, bool Saturates, class Q,
          class K, class V, class Result>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(Selector::tile(compiled_architecture).threads(),
                                          8 / Selector::tile(compiled_architecture).warps)
    flash_attention_kernel(const detail::FlashArguments<Q, K, V, Result> given) {
  using namespace detail;
  constexpr FlashAttentionTile tile = Selector::tile(compiled_architecture);
  constexpr int rows_of_warp = tile.queries / tile.warps;
  using Products = AttentionProducts<Operand, rows_of_warp, tile.keys, Width, false, WholeWeights>;
  using Element = HeldDtype<Operand>;
  using Queries = SharedTile<Element, tile.queries, Width>;
  using Ring = SharedTile<Element, tile.keys, Width>;
  using Scores = typename Products::Scores;
  using Results = typename Products::Results;
  constexpr int threads = tile.threads(), ahead = tile.stages - 1;
  static_assert(ahead >= 1, "FlashAttentionTile: one stage to compute on, and one on its way.");
  const AttentionShape& shape = given.shape;
  const int tiles = ceil_divide(shape.queries, tile.queries);
  const int head = block_index().x / tiles % shape.heads, batch = block_index().x / tiles / shape.heads;
  // The last queries see most keys of a causal attention: their blocks are the longest, and start first.
  const int first = (tiles - 1 - block_index().x % tiles) * tile.queries;
  const int end = first + tile.queries < shape.queries ? first + tile.queries : shape.queries;
  const int steps = 2 * ceil_divide(shape.keys_seen_by(end - 1), tile.keys);

  const int kv_head = shape.kv_head(head);
  const TileLoader<Operand, Saturates, Queries, threads, HeadRows<Q>> load_queries(given.q.rows(batch, head));
  const TileLoader<Operand, Saturates, Ring, threads, HeadRows<K>> load_keys(given.k.rows(batch, kv_head));
  const TileLoader<Operand, Saturates, Ring, threads, HeadRows<V>> load_values(given.v.rows(batch, kv_head));
  const Queries queries{dynamic_shared<Element>(0, Queries::size)};
  const auto buffer = [&](int step) {
    const int place = Queries::size + planted<"stage index">(step, step / 2) % tile.stages * Ring::size;
    return Ring{dynamic_shared<Element>(sizeof(Element) * static_cast<std::size_t>(place), Ring::size)};
  };
  const auto start = [&](int step) {
    if (step < steps && step % 2 == 0) load_keys.start(buffer(step), step / 2 * tile.keys);
    if (step < steps && step % 2 == 1) load_values.start(buffer(step), step / 2 * tile.keys);
    cp_async_commit();  // a group for every step, so that waiting for all but `ahead - 1` is right at the end
                        // too
  };
  const auto arrived = [&](int step) {
    cp_async_wait<ahead - 1>();
    if (step == 0) load_queries.landed(queries);
    step % 2 == 0 ? load_keys.landed(buffer(step)) : load_values.landed(buffer(step));
    sync_block();  // the tile is there for all, and all are done with the one before, whose buffer is free
    start(step + ahead);
    return buffer(step);
  };

  if (steps > 0) load_queries.start(queries, first);  // without keys nobody would wait for them
  for (int step = 0; step < ahead; ++step) start(step);

  const int first_row = warp_index() * planted<"rows of a warp">(rows_of_warp, 0);
  OnlineSoftmax<Scores::rows> softmax;
  Results results{};
  for (int step = 0; step < steps; step += 2) {
    const int key = step / 2 * tile.keys;
    Scores scores{};
    Products::scores(scores, queries, first_row, arrived(step));
    const f32 scale =
        finish_scores<Biased>(scores, shape, head, first + first_row, key,
                              planted<"keys of a tile">(key + tile.keys, key) > shape.keys_seen_by(first));
    f32 factors[Scores::rows];
    softmax.update(scores, scale, factors);
    rescale_results(results, factors);
    Products::results(results, scores, arrived(step + 1));
  }

  store_log_sums<Scores>(softmax, scale_left<Biased>(shape), shape, given.log_sums, batch, head,
                         first + first_row, end);
  store_results<Saturates, Scores::row_lanes>(results, softmax, factor_of_parts<Operand, WholeWeights>, shape,
                                              given.out, batch, head, first + first_row, end);
}

}  // namespace precast::gpu
