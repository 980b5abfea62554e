// Attention's gradients in tiles (Dao 2023), without atomic additions. A block takes a tile of keys through
// the queries that see them, or a tile of queries through the keys that they see, and recomputes their
// weights from the logarithms of the rows' sums. That takes seven products; five would do if blocks added
// to each other's results, but in no fixed order.
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

/// The values of a row, besides its scores, that the gradients of its scores depend on.
struct RowOfScores {
  f32 log_sum = 0, rest = 0, delta = 0;
};

template <class Q, class K, class V, class DO, class Result>
struct TiledGradientArguments {
  Heads<const Q> q;
  Heads<const K> k;
  Heads<const V> v;
  Heads<const DO> dout;
  Heads<Result> dq, dk, dv;
  AttentionShape shape;
  GlobalPointer<const f32> log_sums, rests, deltas;  ///< of all rows of scores

  /// The values of a query's row; zeros for a query past the end.
  PRECAST_DEVICE RowOfScores row_of_scores(int batch, int head, int query) const {
    if (query >= shape.queries) return {};
    const std::int64_t row = shape.row_of_scores(batch, head, query);
    return {log_sums[row], rests[row], deltas[row]};
  }
};

/// A tile of rows of two matrices: keys and values, or queries and the gradients of their results.
template <class Tile, class LoadLeft, class LoadRight>
struct TilePair {
  Tile left, right;
  LoadLeft load_left;
  LoadRight load_right;

  /// Like TileLoader's start and landed.
  PRECAST_DEVICE void start(int first_row) const {
    load_left.start(left, first_row);
    load_right.start(right, first_row);
  }
  PRECAST_DEVICE void landed() const {
    load_left.landed(left);
    load_right.landed(right);
  }
};

/// The rows of a block, from `first` of a head on, and the rows that pass in its steps: the queries that
/// see its keys (OfKeys), of every head that attends to them, or the keys that its queries see.
template <bool OfKeys>
class GradientBlock {
 public:
  PRECAST_DEVICE GradientBlock(const AttentionShape& shape, GradientTile tile)
      : shape_(shape), others_(tile.others) {
    rows = OfKeys ? shape.keys : shape.queries;
    const int heads = OfKeys ? shape.heads_kv : shape.heads, tiles = ceil_divide(rows, tile.rows);
    head = block_index().x / tiles % heads;
    batch = block_index().x / tiles / heads;
    // The first keys are seen by most queries, and the last queries see most keys: the longest start first.
    const int place = block_index().x % tiles;
    first = (OfKeys ? place : tiles - 1 - place) * tile.rows;
    group_ = OfKeys ? planted<"one head of a group">(shape.heads / shape.heads_kv, 1) : 1;
    first_other_ = OfKeys && shape.causal ? first / tile.others : 0;
    const int last_row = min_of(first + tile.rows, rows) - 1;
    const int others = ceil_divide(OfKeys ? shape.queries : shape.keys_seen_by(last_row), tile.others);
    of_head_ = max_of(others - first_other_, 0);
    steps = group_ * of_head_;
  }

  int rows, head, batch, first, steps;

  /// The head, and the first row, of the rows that pass in a step.
  PRECAST_DEVICE int head_of(int step) const {
    return OfKeys ? head * group_ + step / of_head_ : shape_.kv_head(head);
  }
  PRECAST_DEVICE int row_of(int step) const { return (first_other_ + step % of_head_) * others_; }

 private:
  const AttentionShape& shape_;
  int others_, group_, first_other_, of_head_;
};

/// Replaces a score and the gradient of its weight by the weight and the gradient of the score, as operands
/// of products. Each is kept as Types::inside between the steps. The scaled score is rounded, as in
/// log_sum: a fused difference would be off by a large score's rounding error, more than e^x tolerates.
template <class Types>
PRECAST_DEVICE void to_weight_and_gradient(f32& score, f32& product, f32 scale, const RowOfScores& row,
                                           bool seen) {
  const auto kept = [](f32 x) {
    return planted<"inside ignored">(rounded<typename Types::inside, Types::saturate>(x), x);
  };
  const f32 weight = seen ? kept(math::exp_of_negative((kept(math::rounded_product(score, scale)) -
                                                        (row.log_sum == -infinity ? 0.0f : row.log_sum)) -
                                                       planted<"rest not subtracted">(row.rest, 0.0f)))
                          : 0.0f;
  score = weight;
  product = seen ? kept(weight * (kept(product) - planted<"delta not subtracted">(row.delta, 0.0f))) : 0.0f;
}

/// One block per tile: of keys and values (OfKeys), for all heads of queries that attend to them, or of
/// queries. Bytes moved: a block's own rows and results once, and passing rows once for every 64 of its
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
  const GradientBlock<OfKeys> block(shape, tile);

  // Shared memory: two tiles of own rows, then the pairs of tiles of passing rows, in turns.
  const auto shared = [](int values, int count) {
    return dynamic_shared<Element>(sizeof(Element) * static_cast<std::size_t>(values), count);
  };
  const auto buffer = [&](int step, int which) {
    const int at = planted<"stage index">(step, step / 2) % tile.stages * 2 + which;
    return Other{shared(2 * Own::size + at * Other::size, Other::size)};
  };
  const auto keys_in = [&](auto left, auto right, int head) {
    using Tile = decltype(left);
    using LoadKeys = TileLoader<ForwardOperand, Types::saturate, Tile, threads, HeadRows<K>>;
    using LoadValues = TileLoader<ForwardOperand, Types::saturate, Tile, threads, HeadRows<V>>;
    return TilePair<Tile, LoadKeys, LoadValues>{left, right, LoadKeys(given.k.rows(block.batch, head)),
                                                LoadValues(given.v.rows(block.batch, head))};
  };
  const auto queries_in = [&](auto left, auto right, int head) {
    using Tile = decltype(left);
    using LoadQueries = TileLoader<ForwardOperand, Types::saturate, Tile, threads, HeadRows<Q>>;
    using LoadGradients = TileLoader<Operand, Types::saturate, Tile, threads, HeadRows<DO>>;
    return TilePair<Tile, LoadQueries, LoadGradients>{left, right,
                                                      LoadQueries(given.q.rows(block.batch, head)),
                                                      LoadGradients(given.dout.rows(block.batch, head))};
  };
  const auto own = [&] {
    const Own left{shared(0, Own::size)}, right{shared(Own::size, Own::size)};
    if constexpr (OfKeys)
      return keys_in(left, right, block.head);
    else
      return queries_in(left, right, block.head);
  }();
  const auto passing = [&](int step) {
    if constexpr (OfKeys)
      return queries_in(buffer(step, 0), buffer(step, 1), block.head_of(step));
    else
      return keys_in(buffer(step, 0), buffer(step, 1), block.head_of(step));
  };
  const auto start = [&](int step) {
    if (step >= block.steps) return;
    passing(step).start(block.row_of(step));
    cp_async_commit();
  };

  if (block.steps > 0) own.start(block.first);
  start(0);
  const int first_row = warp_index() * planted<"rows of a warp">(tile.rows_of_warp(), 0);
  const auto own_row = [&](int i) { return block.first + first_row + Scores::row(i); };
  // A lane's values: of its own rows, loaded once, or of the passing columns.
  RowOfScores rows_of_scores[OfKeys ? Scores::columns : Scores::rows];
  if constexpr (!OfKeys) {
    PRECAST_UNROLL
    for (int i = 0; i < Scores::rows; ++i)
      rows_of_scores[i] = given.row_of_scores(block.batch, block.head, own_row(i));
  }
  Results of_left{}, of_right{};
  PRECAST_KEEP_LOOP
  for (int step = 0; step < block.steps; ++step) {
    cp_async_wait<0>();
    if (step == 0) own.landed();
    const auto others = passing(step);
    others.landed();
    sync_block();  // the tiles are there for all, and all are done with those before, whose place is free
    start(step + 1);
    const auto other_row = [&](int j) { return block.row_of(step) + Scores::column(j); };
    if constexpr (OfKeys) {
      PRECAST_UNROLL
      for (int j = 0; j < Scores::columns; ++j)
        rows_of_scores[j] = given.row_of_scores(block.batch, block.head_of(step), other_row(j));
    }
    Scores scores{}, products{};
    Products::scores(scores, own.left, first_row, others.left);
    Products::scores(products, own.right, first_row, others.right);
    PRECAST_UNROLL
    for (int i = 0; i < Scores::rows; ++i) {
      PRECAST_UNROLL
      for (int j = 0; j < Scores::columns; ++j) {
        const int query = OfKeys ? other_row(j) : own_row(i), key = OfKeys ? own_row(i) : other_row(j);
        const bool seen = query < planted<"queries past the end">(shape.queries, shape.queries - 1) &&
                          key < shape.keys && shape.sees(query, key);
        to_weight_and_gradient<Types>(scores.at(i, j), products.at(i, j), shape.scale,
                                      rows_of_scores[OfKeys ? j : i], seen);
      }
    }
    Products::results(of_left, products, others.left);
    if constexpr (OfKeys) Products::results(of_right, scores, others.right);
  }

  const f32 scale = planted<"scale of gradients">(shape.scale, 1.0f);
  const auto store = [&](Results& sums, f32 factor, const Heads<typename Types::result>& to, int columns) {
    PRECAST_UNROLL
    for (int i = 0; i < Results::rows; ++i) {
      const int row = block.first + first_row + Results::row(i);
      if (row < block.rows)
        store_sums<Types::saturate>(sums, i, factor, to.first(block.batch, block.head) + row * to.stride,
                                    columns, to.aligned);
    }
  };
  store(of_left, scale, OfKeys ? given.dk : given.dq, shape.width);
  if constexpr (OfKeys) store(of_right, 1.0f, given.dv, shape.width_v);
}

}  // namespace precast::gpu::detail
