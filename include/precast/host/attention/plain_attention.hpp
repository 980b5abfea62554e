// Attention by its definition: whole rows of scores, stored in the `inside` dtype between steps.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <precast/host/attention/attention_tiles.hpp>
#include <precast/host/attention/packed_batches.hpp>
#include <precast/host/attention/packed_keys_and_values.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/softmax/softmax.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {
/// The rows of queries that one task takes: their scores are to stay in the L2 cache.
inline constexpr std::int64_t plain_rows = 48;
static_assert(plain_rows % rows_at_once == 0);

/// softmax_row in place, and log(sum e^x): -inf where the row is empty or nothing but -inf.
inline f32 softmax_and_log_sum(std::span<f32> row, bool masked) {
  constexpr f32 none = -std::numeric_limits<f32>::infinity();
  const f32 largest = largest_of(row);
  const bool is_empty =
      largest == none && std::ranges::none_of(row, [](f32 score) { return score != score; });
  softmax_row(row, row, masked);
  // The largest score's weight is 1 / sum.
  return is_empty ? none : largest - std::log(largest_of(row));
}

/// plain_attention_of_rows for batches that are packed together.
template <class Types, class Q, class K, class V>
void plain_attention_of_batches(const AttentionProblem& problem, HostHeadsView<const Q> q,
                                HostHeadsView<const K> k, HostHeadsView<const V> v,
                                HostHeadsView<typename Types::result> out, f32* log_sums) {
  using Operand = typename Types::operand;
  using Inside = typename Types::inside;
  using Tile = tile_type<Operand, typename Types::accumulate>;
  const auto packed = PackedKeysAndValues<Tile>::template of<Operand, Types::saturate>(problem, k, v);
  const std::int64_t tiles = ceil_divide(problem.queries, plain_rows);
  const std::int64_t depth = packed.depth(), columns = packed.columns(),
                     stride = rounded_up(problem.keys, row_multiple<Tile>()),
                     tile_rows = std::min(plain_rows, rounded_up(problem.queries, rows_at_once));
  const std::int64_t tasks = problem.batch * problem.heads * tiles;
  constexpr std::int64_t tile = sizeof(Tile), sum = sizeof(f32);
  task_memory(tasks, tile_rows * (depth * tile + (stride + columns) * sum +
                                  (std::same_as<Tile, f32> ? 0 : stride * tile)));
  parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t first = task % tiles * plain_rows, head = task / tiles % problem.heads;
    const std::int64_t batch = task / tiles / problem.heads, kv_head = problem.kv_head(head);
    const std::int64_t rows = std::min(plain_rows, problem.queries - first);
    // Keys that no row sees have weights of zero; narrow sums are rounded with each of them all the same.
    constexpr bool leaves_out = std::same_as<typename Types::accumulate, f32>;
    const std::int64_t blocks =
        leaves_out ? ceil_divide(problem.keys_seen_by(first + rows - 1), keys_per_block) : packed.blocks();
    HostTensor<Tile> queries(Shape{tile_rows, depth});
    HostTensor<f32> scores(Shape{tile_rows, stride}), result(Shape{tile_rows, columns});
    // Weights overwrite their scores where both are f32.
    constexpr bool in_place = std::same_as<Tile, f32>;
    HostTensor<Tile> apart(in_place ? Shape{0} : Shape{tile_rows, stride});
    Tile* weights = apart.data();
    if constexpr (in_place) weights = scores.data();
    load_tile<Operand, Types::saturate>(
        rows, rounded_up(rows, rows_at_once), depth, depth,
        [&](std::int64_t i) { return q.row(batch, head, first + i); }, queries.data());
    for (std::int64_t block = 0; block < blocks; ++block)
      multiply_tile<Tile, typename Types::accumulate>(
          queries.data(), depth, packed.keys(batch, kv_head, block), depth,
          scores.data() + block * keys_per_block, stride, nullptr, rows, packed.padded_keys_in(block));
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::span<f32> row(scores.data() + i * stride, static_cast<std::size_t>(stride));
      const std::span<f32> seen = row.first(static_cast<std::size_t>(problem.keys_seen_by(first + i)));
      const f32* bias = problem.bias_row(head, first + i);
      for (std::size_t j = 0; j < seen.size(); ++j)
        seen[j] = bias ? std::fma(seen[j], problem.scale, bias[j]) : seen[j] * problem.scale;
      round_row<Inside, Types::saturate>(seen);
      if (rounding_unmasks<Inside, Types::saturate> && bias)  // a masked score stays masked
        for (std::size_t j = 0; j < seen.size(); ++j)
          if (bias[j] == -std::numeric_limits<f32>::infinity()) seen[j] = bias[j];
      if (log_sums)
        log_sums[(batch * problem.heads + head) * problem.queries + first + i] =
            softmax_and_log_sum(seen, problem.masks());
      else
        softmax_row(seen, seen, problem.masks());
      round_row<Inside>(seen);
      std::fill(row.begin() + static_cast<std::ptrdiff_t>(seen.size()), row.end(), 0.0f);
      load_operands<Operand, false>(std::span<const f32>(row), weights + i * stride);
    }
    std::fill(result.values().begin(), result.values().end(), 0.0f);
    std::array<f32, plain_rows> keep;
    keep.fill(1.0f);
    for (std::int64_t block = 0; block < blocks; ++block)
      multiply_tile<Tile, typename Types::accumulate>(
          weights + block * keys_per_block, stride, packed.values(batch, kv_head, block),
          packed.padded_keys_in(block), result.data(), columns, keep.data(), rows, columns);
    for (std::int64_t i = 0; i < rows; ++i)
      store_row<Types::saturate>(
          std::span<const f32>(result.data() + i * columns, static_cast<std::size_t>(problem.width_v)),
          out.row(batch, head, first + i));
  });
}

/// Plain attention; also writes the logsumexp of scores into `log_sums` [B, H, Sq], unless it is null.
template <class Types, class Q, class K, class V>
void plain_attention_of_rows(const AttentionProblem& problem, HostHeadsView<const Q> q,
                             HostHeadsView<const K> k, HostHeadsView<const V> v,
                             HostHeadsView<typename Types::result> out, f32* log_sums) {
  using Packed = PackedKeysAndValues<tile_type<typename Types::operand, typename Types::accumulate>>;
  for_packed_attention<Packed>(problem, q, k, v, out, log_sums,
                               [](const auto&... part) { plain_attention_of_batches<Types>(part...); });
}

}  // namespace detail

/// Attention whose scores and weights are stored in the inside dtype. q, k and v are of the problem's sizes.
/// Rounding happens: q, k, v to operand; each score, scaled and biased in f32, to inside; softmax in f32
/// from these; each weight to inside, then to operand; the result to result. Sums of products are Accumulate.
template <class Types, class Choice, class Q, class K, class V>
void plain_attention(const AttentionProblem& problem, HostHeadsView<const Q> q, HostHeadsView<const K> k,
                     HostHeadsView<const V> v, HostHeadsView<typename Types::result> out) {
  watch::ran_in<Types>();
  detail::plain_attention_of_rows<Types>(problem, q, k, v, out, nullptr);
}

/// The largest |scaled and biased score| in f32 over pairs that no bias of -inf masks, ignoring NaN: the
/// range that `inside` must hold.
template <class Q, class K>
f32 largest_score(const AttentionProblem& problem, HostHeadsView<const Q> q, HostHeadsView<const K> k) {
  HostTensor<f32> largest(Shape{std::max<std::int64_t>(problem.batch * problem.heads, 1)});
  parallel_for(problem.batch * problem.heads, [&](std::int64_t index) {
    const std::int64_t batch = index / problem.heads, head = index % problem.heads;
    const std::int64_t width = problem.width, keys = problem.keys;
    HostTensor<f32> scratch(Shape{keys + 1, std::max<std::int64_t>(width, 1)}), lengths(Shape{keys + 1});
    const auto length_of = [&](const f32* row) {
      return std::sqrt(sum_of(width, [&](std::int64_t d) { return row[d] * row[d]; }));
    };
    // Keys in f32, once for all queries.
    std::vector<const f32*> rows(static_cast<std::size_t>(keys));
    for (std::int64_t j = 0; j < keys; ++j) {
      const auto row = row_in_f32(k.row(batch, problem.kv_head(head), j), scratch.data() + j * width);
      rows[static_cast<std::size_t>(j)] = row.data();
      lengths.data()[j] = length_of(row.data());
    }
    f32 most = 0;
    for (std::int64_t i = 0; i < problem.queries; ++i) {
      const f32* query = row_in_f32(q.row(batch, head, i), scratch.data() + keys * width).data();
      const f32* bias = problem.bias_row(head, i);
      // No product is above that of the lengths, but for rounding: most need not be computed.
      const f32 bound = 1.01f * length_of(query) * std::fabs(problem.scale);
      for (std::int64_t j = 0; j < problem.keys_seen_by(i); ++j) {
        if (bias && bias[j] == -std::numeric_limits<f32>::infinity()) continue;  // masked
        if (bound * lengths.data()[j] + (bias ? std::fabs(bias[j]) : 0.0f) <= most) continue;
        const f32* key = rows[static_cast<std::size_t>(j)];
        const f32 dot = sum_of(width, [&](std::int64_t d) { return query[d] * key[d]; });
        const f32 score = std::fabs(dot * problem.scale + (bias ? bias[j] : 0.0f));
        most = score > most ? score : most;
      }
    }
    largest.data()[index] = most;
  });
  f32 most = 0;
  for (std::int64_t i = 0; i < problem.batch * problem.heads; ++i) most = std::max(most, largest.data()[i]);
  return most;
}

}  // namespace precast::host
