// Attention's gradients in tiles (Dao 2023), without atomic additions: a block takes a tile of keys
// through the queries that see them, or a tile of queries through the keys that they see, and computes the
// weights of both once more from the logarithms of the rows' sums. That is seven products where five would do
// if blocks added to each other's results, whose order would then not be one.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/attention_products.hpp>
#include <precast/cuda/attention/gradient_tile.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/shared_tile.hpp>
#include <precast/cuda/tile/tile_loader.hpp>
#include <precast/problem/math.hpp>

namespace precast::gpu::detail {

template <class Q, class K, class V, class DO, class Result>
struct TiledGradientArguments {
  Heads<const Q> q;
  Heads<const K> k;
  Heads<const V> v;
  Heads<const DO> dout;
  Heads<Result> dq, dk, dv;
  AttentionShape shape;
  GlobalPointer<const f32> log_sums, rests, deltas;  ///< of all rows of scores
};

/// A score and the gradient of its weight become the weight and the gradient of the score, as operands of
/// products. Each is kept as Types::inside between the steps. The scaled score is rounded, as that in log_sum
/// is: of a large one, fused with the difference, rounding alone would be more than e^x can take.
template <class Types>
PRECAST_DEVICE void to_weight_and_gradient(f32& score, f32& product, f32 scale, f32 log_sum, f32 rest,
                                           f32 delta, bool seen) {
  const auto kept = [](f32 x) {
    return planted<"inside ignored">(rounded<typename Types::inside, Types::saturate>(x), x);
  };
  const f32 weight = seen ? kept(math::exp_of_negative((kept(math::rounded_product(score, scale)) -
                                                        (log_sum == -infinity ? 0.0f : log_sum)) -
                                                       planted<"rest not subtracted">(rest, 0.0f)))
                          : 0.0f;
  score = weight;
  product = seen ? kept(weight * (kept(product) - planted<"delta not subtracted">(delta, 0.0f))) : 0.0f;
}

/// One block a tile: of keys and values (OfKeys), for all heads of queries that attend to them, or of
/// queries. Bytes moved: a block's own rows and results once, and those that go by once for every 64 of its
/// own.
template <class Types, class ForwardOperand, int Width, bool OfKeys, class Q, class K, class V, class DO>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(GradientTile{}.threads(), 2)
    tiled_gradient_kernel(const TiledGradientArguments<Q, K, V, DO, typename Types::result> given) {
  using Operand = typename Types::operand;
  using Element = HeldDtype<Operand>;
  constexpr GradientTile tile = select_gradient_tile(Width, sizeof(Element));
  constexpr int threads = tile.threads();
  using Own = SharedTile<Element, tile.rows, Width>;
  using Other = SharedTile<Element, tile.others, Width>;
  using Products = AttentionProducts<Operand, tile.rows_of_warp(), tile.others, Width, Types::saturate>;
  using Scores = typename Products::Scores;
  using Results = typename Products::Results;
  const AttentionShape& shape = given.shape;
  const int rows = OfKeys ? shape.keys : shape.queries, heads = OfKeys ? shape.heads_kv : shape.heads;
  const int tiles = ceil_divide(rows, tile.rows);
  const int head = block_index().x / tiles % heads, batch = block_index().x / tiles / heads;
  // The first keys are seen by most queries, and the last queries see most keys: the longest start first.
  const int place = block_index().x % tiles, first = (OfKeys ? place : tiles - 1 - place) * tile.rows;
  const int group = OfKeys ? planted<"one head of a group">(shape.heads / shape.heads_kv, 1) : 1;
  const int first_other = OfKeys && shape.causal ? first / tile.others : 0;
  const int last_row = min_of(first + tile.rows, rows) - 1;
  const int others = ceil_divide(OfKeys ? shape.queries : shape.keys_seen_by(last_row), tile.others);
  const int of_head = max_of(others - first_other, 0), steps = group * of_head;

  // A place in shared memory: own rows and what their products are with, then both of what goes by, in turns.
  const auto shared = [](int values, int count) {
    return dynamic_shared<Element>(sizeof(Element) * static_cast<std::size_t>(values), count);
  };
  const Own own_left{shared(0, Own::size)}, own_right{shared(Own::size, Own::size)};
  const auto buffer = [&](int step, int which) {
    const int at = planted<"stage index">(step, step / 2) % tile.stages * 2 + which;
    return Other{shared(2 * Own::size + at * Other::size, Other::size)};
  };
  const auto head_of = [&](int step) { return OfKeys ? head * group + step / of_head : shape.kv_head(head); };
  const auto row_of_step = [&](int step) { return (first_other + step % of_head) * tile.others; };
  // Queries and gradients of results, or keys and values: into `left` and `right`.
  const auto load = [&](auto of_keys, auto left, auto right, int of_head_number, int first_row, bool landed) {
    using Tile = decltype(left);
    const auto both = [&](const auto& load_left, const auto& load_right) {
      if (landed) {
        load_left.landed(left);
        load_right.landed(right);
      } else {
        load_left.start(left, first_row);
        load_right.start(right, first_row);
      }
    };
    if constexpr (decltype(of_keys)::value)
      both(TileLoader<ForwardOperand, Types::saturate, Tile, threads, HeadRows<K>>(
               given.k.rows(batch, of_head_number)),
           TileLoader<ForwardOperand, Types::saturate, Tile, threads, HeadRows<V>>(
               given.v.rows(batch, of_head_number)));
    else
      both(TileLoader<ForwardOperand, Types::saturate, Tile, threads, HeadRows<Q>>(
               given.q.rows(batch, of_head_number)),
           TileLoader<Operand, Types::saturate, Tile, threads, HeadRows<DO>>(
               given.dout.rows(batch, of_head_number)));
  };
  const auto load_own = [&](bool landed) {
    load(std::bool_constant<OfKeys>{}, own_left, own_right, head, first, landed);
  };
  const auto load_other = [&](int step, bool landed) {
    load(std::bool_constant<!OfKeys>{}, buffer(step, 0), buffer(step, 1), head_of(step), row_of_step(step),
         landed);
  };
  const auto start = [&](int step) {
    if (step >= steps) return;
    load_other(step, false);
    cp_async_commit();
  };

  if (steps > 0) load_own(false);
  start(0);
  const int first_row = warp_index() * planted<"rows of a warp">(tile.rows_of_warp(), 0);
  Results of_left{}, of_right{};
  PRECAST_KEEP_LOOP
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<0>();
    if (step == 0) load_own(true);
    load_other(step, true);
    sync_block();  // the tiles are there for all, and all are done with those before, whose place is free
    start(step + 1);
    const Other left = buffer(step, 0), right = buffer(step, 1);
    Scores scores{}, products{};
    Products::scores(scores, own_left, first_row, left);
    Products::scores(products, own_right, first_row, right);
    const std::int64_t first_score =
        (std::int64_t{batch} * shape.heads + (OfKeys ? head_of(step) : head)) * shape.queries;
    PRECAST_UNROLL
    for (int i = 0; i < Scores::rows; ++i) {
      PRECAST_UNROLL
      for (int j = 0; j < Scores::columns; ++j) {
        const int own = first + first_row + Scores::row(i), other = row_of_step(step) + Scores::column(j);
        const int query = OfKeys ? other : own, key = OfKeys ? own : other;
        const bool seen = query < planted<"queries past the end">(shape.queries, shape.queries - 1) &&
                          key < shape.keys &&
                          (!planted<"causal ignored">(shape.causal, false) || key <= query);
        const std::int64_t row = first_score + (seen ? query : 0);
        to_weight_and_gradient<Types>(scores.at(i, j), products.at(i, j), shape.scale,
                                      seen ? given.log_sums[row] : 0.0f, seen ? given.rests[row] : 0.0f,
                                      seen ? given.deltas[row] : 0.0f, seen);
      }
    }
    Products::results(of_left, products, left);
    if constexpr (OfKeys) Products::results(of_right, scores, right);
  }

  const f32 scale = planted<"scale of gradients">(shape.scale, 1.0f);
  const auto store = [&](Results& sums, f32 factor, const Heads<typename Types::result>& to, int columns) {
    PRECAST_UNROLL
    for (int i = 0; i < Results::rows; ++i) {
      const int row = first + first_row + Results::row(i);
      if (row < rows)
        store_sums<Types::saturate>(sums, i, factor, to.first(batch, head) + row * to.stride, columns,
                                    to.aligned);
    }
  };
  store(of_left, scale, OfKeys ? given.dk : given.dq, shape.width);
  if constexpr (OfKeys) store(of_right, 1.0f, given.dv, shape.width_v);
}

}  // namespace precast::gpu::detail
