// Plain attention in three kernels: scores to memory, rows of scores to weights, weights times values. The
// values stored between them have the inside dtype, so that its overflow shows.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/online_softmax.hpp>
#include <precast/cuda/attention/plain_product.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/attention_problem.hpp>

namespace precast::gpu {

namespace detail {

/// A tile of plain_rows queries of one head: its number among all of them, from the heads of the first
/// sample on.
struct QueryTile {
  int batch, head, first;

  PRECAST_DEVICE QueryTile(const AttentionShape& shape, int tile) {
    const int tiles = ceil_divide(shape.queries, plain_rows);
    first = tile % tiles * plain_rows;
    head = tile / tiles % shape.heads;
    batch = tile / tiles / shape.heads;
  }
};

/// The stored dtype of a score or weight: the inside dtype, or f32 where that has no infinity, as a masked
/// score is -inf.
template <class Inside>
using StoredScore = std::conditional_t<has_infinity<Inside>, Inside, f32>;

/// Scores, and then weights, of some tiles of queries: plain_rows rows a tile, `stride` values apart.
template <class Inside>
struct StoredScores {
  GlobalPointer<StoredScore<Inside>> data;
  std::int64_t stride;
  int first_tile, tiles;

  PRECAST_DEVICE GlobalPointer<StoredScore<Inside>> row(int tile, int row) const {
    return data + (static_cast<std::int64_t>(tile) * plain_rows + row) * stride;
  }
};

/// A score or weight rounded to the inside dtype, in its stored dtype.
template <class Inside, bool Saturates = false>
PRECAST_DEVICE StoredScore<Inside> stored_score(f32 value) {
  if constexpr (has_infinity<Inside>)
    return round_to<Inside, Saturates>(value);
  else
    return rounded<Inside, Saturates>(value);
}

/// Neighbouring scores of one row, as one lane holds them.
template <int Count>
struct ScoreChunk {
  static constexpr int columns = Count, row_lanes = 1;
  f32 values[Count];
  PRECAST_DEVICE f32& at(int, int j) { return values[j]; }
};

template <class Q, class K>
struct ScoresArguments {
  Heads<const Q> q;
  Heads<const K> k;
  AttentionShape shape;
};

/// The scores of a block, scaled and biased: calls `take(row of the tile, key, score, bias)` for those that
/// queries see.
template <class Operand, class Accumulate, bool Saturates, class Q, class K, class Take>
PRECAST_DEVICE void for_each_score(const ScoresArguments<Q, K>& given, const QueryTile& tile, int first_key,
                                   const Take& take) {
  using Product = PlainProduct<Operand, Accumulate, false>;
  const AttentionShape& shape = given.shape;
  typename Product::Accumulator scores{};
  Product::template add<Saturates>(scores, given.q.rows(tile.batch, tile.head), tile.first,
                                   given.k.rows(tile.batch, shape.kv_head(tile.head)), first_key,
                                   shape.width);
  PRECAST_UNROLL
  for (int i = 0; i < scores.rows; ++i) {
    const int row = warp_index() * (plain_rows / plain_warps) + scores.row(i), query = tile.first + row;
    const int seen = query < shape.queries ? shape.keys_seen_by(query) : 0;
    PRECAST_UNROLL
    for (int j = 0; j < scores.columns; ++j) {
      const int key = first_key + scores.column(j);
      if (key >= planted<"keys of a tile">(seen, shape.keys - 1)) continue;
      const f32 bias = shape.biased ? shape.bias_row(tile.head, query)[key] : 0.0f;
      const f32 score = scores.at(i, j);
      take(row, key, shape.biased ? multiply_then_add(score, shape.scale, bias) : score * shape.scale, bias);
    }
  }
}

}  // namespace detail

/// One block per tile of scores; neighbouring blocks have neighbouring tiles of keys. Bytes moved: scores
/// once, q and k once for every 64 of each other.
template <class Operand, class Accumulate, class Inside, bool Saturates, class Q, class K>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(detail::plain_threads, 2)
    attention_scores_kernel(const detail::ScoresArguments<Q, K> given,
                            const detail::StoredScores<Inside> scores) {
  using namespace detail;
  const int key_tiles = ceil_divide(given.shape.keys, plain_columns);
  const int tile = block_index().x / key_tiles, first_key = block_index().x % key_tiles * plain_columns;
  for_each_score<Operand, Accumulate, Saturates>(
      given, QueryTile(given.shape, scores.first_tile + tile), first_key,
      [&](int row, int key, f32 score, f32 bias) {
        // A masked score stays masked.
        const bool masked = rounding_unmasks<Inside, Saturates> && bias == -infinity;
        const f32 kept = with_planted_dtype<"inside ignored">(score);
        scores.row(tile, row)[key] =
            masked ? round_to<StoredScore<Inside>>(bias) : stored_score<Inside, Saturates>(kept);
      });
}

/// One warp per row: scores become weights of the inside dtype, in place. With LogSums, `log_sums` gets the
/// logarithms of the sums of e^score of all rows. Bytes moved: rows are read twice, since they need not fit
/// a block, and written once.
template <class Inside, bool LogSums>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(detail::plain_threads, 4)
    attention_weights_kernel(const detail::AttentionShape shape, const detail::StoredScores<Inside> scores,
                             const GlobalPointer<f32> log_sums) {
  using namespace detail;
  constexpr int count = widest_vector<StoredScore<Inside>>, step = count * threads_per_warp;
  using Chunk = ScoreChunk<count>;
  const int row = block_index().x * plain_warps + warp_index();
  const QueryTile tile(shape, scores.first_tile + row / plain_rows);
  const int query = tile.first + row % plain_rows;
  if (query >= shape.queries) return;
  const int seen = shape.keys_seen_by(planted<"causal edge">(query, query + 1));
  const GlobalPointer<StoredScore<Inside>> values = scores.row(0, row);
  const auto load = [&](int key) {
    const auto stored = load_vector<count>(values + key);
    Chunk chunk;
    PRECAST_UNROLL
    for (int e = 0; e < count; ++e)
      chunk.values[e] =
          key + e < planted<"keys of a row">(seen, shape.keys) ? to_f32(stored[e]) : OnlineSoftmax<1>::none;
    return chunk;
  };
  OnlineSoftmax<1> softmax;
  f32 factor[1];
  for (int key = lane_index() * count; key < seen; key += step) {
    Chunk chunk = load(key);
    softmax.update(chunk, log2_of_e, factor);
  }
  softmax.template agree<threads_per_warp>(log2_of_e);
  const f32 base = base_of_scores(softmax.maxima[0]);
  const f32 inverse = softmax.template inverse<threads_per_warp>(0, shape.masks);
  if constexpr (LogSums) {
    const f32 log_sum = softmax.template log_sum<threads_per_warp>(0, 1.0f);
    if (lane_index() == 0)
      log_sums[shape.row_of_scores(tile.batch, planted<"head of a log sum">(tile.head, 0), query)] = log_sum;
  }
  for (int key = lane_index() * count; key < shape.keys; key += step) {
    Chunk chunk = load(key);
    const f32 left = base_of_exponents(chunk, 0, log2_of_e, base);
    Vector<StoredScore<Inside>, count> weights;
    PRECAST_UNROLL
    for (int e = 0; e < count; ++e) {
      const f32 weight = power_of_two_fast(multiply_then_add(chunk.values[e], log2_of_e, -left));
      weights[e] = stored_score<Inside>(with_planted_dtype<"inside ignored">(weight * inverse));
    }
    store_vector_global(values + key, weights);
  }
}

/// One block per tile of results; neighbouring blocks have neighbouring tiles of columns. Bytes moved:
/// results once, weights once for every 64 columns, values once for every 64 queries.
template <class Operand, class Accumulate, bool Saturates, class Inside, class V, class Result>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(detail::plain_threads, 2)
    attention_values_kernel(const detail::AttentionShape shape, const detail::StoredScores<Inside> weights,
                            const detail::Heads<const V> v, const detail::Heads<Result> out) {
  using namespace detail;
  using Product = ValuesProduct<Operand, Accumulate, Inside, V>;
  const int column_tiles = ceil_divide(shape.width_v, plain_columns);
  const int tile = block_index().x / column_tiles;
  const int first_column = block_index().x % column_tiles * plain_columns;
  const QueryTile at(shape, weights.first_tile + tile);
  const int rows = shape.queries - at.first < plain_rows ? shape.queries - at.first : plain_rows;
  const HeadRows<StoredScore<Inside>> left{weights.row(tile, 0), rows, weights.stride,
                                           static_cast<int>(weights.stride), true};
  typename Product::Accumulator sums{};
  Product::template add<Saturates>(sums, left, 0, v.rows(at.batch, shape.kv_head(at.head)), first_column,
                                   shape.keys);
  PRECAST_UNROLL
  for (int i = 0; i < sums.rows; ++i) {
    const int row = warp_index() * (plain_rows / plain_warps) + sums.row(i);
    if (row < rows)
      store_sums<Saturates>(sums, i, Product::factor,
                            out.first(at.batch, at.head) + ((at.first + row) * out.stride + first_column),
                            planted<"columns of a tile">(shape.width_v - first_column, plain_columns),
                            out.aligned);
  }
}

/// The largest |score| of those that no bias of -inf masks, as the bits of an f32: numbers at least 0
/// compare like their bits, and a maximum is the same in any order.
template <class Q, class K>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(detail::plain_threads, 2)
    largest_score_kernel(const detail::ScoresArguments<Q, K> given,
                         const GlobalPointer<std::uint32_t> largest) {
  using namespace detail;
  const int key_tiles = ceil_divide(given.shape.keys, plain_columns);
  const int first_key = block_index().x % key_tiles * plain_columns;
  f32 most = 0;
  for_each_score<f32, f32, false>(given, QueryTile(given.shape, block_index().x / key_tiles), first_key,
                                  [&](int, int, f32 score, f32 bias) {
                                    if (bias == -infinity) return;
                                    most = maximum(
                                        most, planted<"sign of a score">(score < 0 ? -score : score, score));
                                  });
  most = warp_max(most);
  if (lane_index() == 0) atomic_max(largest, bit_cast<std::uint32_t>(most));
}

}  // namespace precast::gpu
