// The gradients of one head of attention, in tiles, of keys, values and queries that are packed for it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

#include <precast/host/attention/attention_scores.hpp>
#include <precast/host/attention/attention_tiles.hpp>
#include <precast/host/attention/packed_keys_and_values.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>

namespace precast::host {

namespace detail {

/// The operands of a head's gradients, packed in the multiplier's layout.
template <class Types, class ForwardOperand>
struct PackedForGradients {
  using Tile = gradient_tile<Types, ForwardOperand>;
  using Packed = PackedKeysAndValues<Tile>;

  Packed keys;     ///< of products with queries, and of scores' gradients with keys
  Packed values;   ///< of products with the result's gradient
  Packed queries;  ///< of scores' gradients, transposed, with queries
  Packed douts;    ///< of weights, transposed, with the result's gradient

  template <class DO, class Q, class K, class V>
  PackedForGradients(const AttentionProblem& p, HostHeadsView<const DO> dout, HostHeadsView<const Q> q,
                     HostHeadsView<const K> k, HostHeadsView<const V> v)
      : keys(Packed::template of<ForwardOperand, Types::saturate>(
            sizes(p, p.heads_kv, p.keys, p.width, p.width), k, k)),
        values(Packed::template of<ForwardOperand, Types::saturate>(
            sizes(p, p.heads_kv, p.keys, p.width_v, 0), v, v)),
        queries(Packed::template of<ForwardOperand, Types::saturate>(sizes(p, p.heads, p.queries, 0, p.width),
                                                                     q, q)),
        douts(Packed::template of<typename Types::operand, Types::saturate>(
            sizes(p, p.heads, p.queries, 0, p.width_v), dout, dout)) {}

  /// The bytes of one batch.
  static std::int64_t bytes_of_batch(const AttentionProblem& p) {
    return Packed::bytes_of_batch(sizes(p, p.heads_kv, p.keys, p.width, p.width)) +
           Packed::bytes_of_batch(sizes(p, p.heads_kv, p.keys, p.width_v, 0)) +
           Packed::bytes_of_batch(sizes(p, p.heads, p.queries, 0, p.width)) +
           Packed::bytes_of_batch(sizes(p, p.heads, p.queries, 0, p.width_v));
  }

 private:
  static AttentionProblem sizes(AttentionProblem p, std::int64_t heads, std::int64_t rows, std::int64_t width,
                                std::int64_t width_v) {
    p.heads_kv = heads, p.keys = rows, p.width = width, p.width_v = width_v;
    return p;
  }
};

/// The gradients of one head of keys and values, and of the heads of queries that attend to it.
template <class Types, class ForwardOperand>
class HeadGradient {
 public:
  using PackedOfAll = PackedForGradients<Types, ForwardOperand>;
  using Tile = typename PackedOfAll::Tile;
  using Operand = typename Types::operand;
  using Accumulate = typename Types::accumulate;

  HeadGradient(const AttentionProblem& problem, const PackedOfAll& packed)
      : problem_(problem),
        packed_(packed),
        sizes_(problem, packed),
        queries_(Shape{sizes_.rows, packed.keys.depth()}),
        douts_(Shape{sizes_.rows, packed.values.depth()}),
        gradients_(Shape{sizes_.rows, sizes_.keys}),
        narrow_weights_(Shape{narrow ? sizes_.rows : 0, sizes_.keys}),
        transposed_weights_(Shape{sizes_.key_rows, sizes_.queries}),
        transposed_gradients_(Shape{sizes_.key_rows, sizes_.queries}),
        weights_(Shape{sizes_.rows, sizes_.keys}),
        products_(Shape{sizes_.rows, sizes_.keys}),
        dq_(Shape{sizes_.rows, packed.keys.columns()}),
        dk_(Shape{packed.keys.blocks() * sizes_.key_rows, packed.queries.columns()}),
        dv_(Shape{packed.keys.blocks() * sizes_.key_rows, packed.douts.columns()}) {
    keep_.fill(1.0f);
    for (auto* tensor : {&dk_, &dv_}) std::fill(tensor->values().begin(), tensor->values().end(), 0.0f);
    for (auto* tile : {&transposed_weights_, &transposed_gradients_})
      std::fill(tile->values().begin(), tile->values().end(), Tile{});
  }

  /// The bytes of its tensors.
  static std::int64_t bytes(const AttentionProblem& problem, const PackedOfAll& packed) {
    const Sizes sizes(problem, packed);
    const std::int64_t tiles = sizes.rows * (packed.keys.depth() + packed.values.depth() +
                                             (narrow ? 2 : 1) * sizes.keys) +
                               2 * sizes.key_rows * sizes.queries,
                       sums = sizes.rows * (2 * sizes.keys + packed.keys.columns()) +
                              packed.keys.blocks() * sizes.key_rows *
                                  (packed.queries.columns() + packed.douts.columns());
    return tiles * std::int64_t{sizeof(Tile)} + sums * std::int64_t{sizeof(f32)};
  }

  /// Adds the contribution of one block of queries to dk and dv, and stores dq of the block.
  template <class DO, class Q, class O>
  void add_queries(std::int64_t batch, std::int64_t head, std::int64_t query_block,
                   HostHeadsView<const DO> dout, HostHeadsView<const Q> q, HostHeadsView<const O> out,
                   const f32* log_sums, HostHeadsView<typename Types::result> dq) {
    const std::int64_t first = query_block * queries_per_block;
    const std::int64_t rows = std::min(queries_per_block, problem_.queries - first);
    load_block<ForwardOperand, Types::saturate>(q, batch, head, first, rows, packed_.keys.depth(),
                                                queries_.data());
    load_block<Operand, Types::saturate>(dout, batch, head, first, rows, packed_.values.depth(),
                                         douts_.data());
    find_deltas(batch, head, first, rows, dout, out);
    std::fill_n(dq_.data(), rounded_up(rows, rows_at_once) * packed_.keys.columns(), 0.0f);
    const std::int64_t needed = problem_.keys_seen_by(first + rows - 1), kv_head = problem_.kv_head(head);
    find_rests(batch, head, first, rows, needed, log_sums + first);
    for (std::int64_t block = 0; block * keys_per_block < needed; ++block) {
      score_block<Types>(problem_, packed_.keys, queries_.data(), batch, head, first, rows, block,
                         weights_.data());
      const std::int64_t keys = packed_.keys.padded_keys_in(block),
                         padded_rows = packed_.queries.padded_keys_in(query_block),
                         summed_rows = rounded_up(rows, depth_multiple<Tile>());
      multiply_tile<Tile, Accumulate>(douts_.data(), packed_.values.depth(),
                                      packed_.values.keys(batch, kv_head, block), packed_.values.depth(),
                                      products_.data(), sizes_.keys, nullptr, rows, keys);
      for (std::int64_t i = 0; i < rows; ++i) scores_to_weights(i, keys, log_sums[first + i]);
      transpose_tiles(rows, padded_rows, keys);
      const std::int64_t columns = packed_.keys.columns(), columns_v = packed_.douts.columns(),
                         key_rows = packed_.keys.keys_in(block);
      multiply_tile<Tile, Accumulate>(gradients_.data(), sizes_.keys,
                                      packed_.keys.values(batch, kv_head, block), keys, dq_.data(), columns,
                                      keep_.data(), rows, columns);
      multiply_tile<Tile, Accumulate>(transposed_gradients_.data(), sizes_.queries,
                                      packed_.queries.values(batch, head, query_block), summed_rows,
                                      dk_.data() + block * sizes_.key_rows * columns, columns, keep_.data(),
                                      key_rows, columns);
      multiply_tile<Tile, Accumulate>(transposed_weights_.data(), sizes_.queries,
                                      packed_.douts.values(batch, head, query_block), summed_rows,
                                      dv_.data() + block * sizes_.key_rows * columns_v, columns_v,
                                      keep_.data(), key_rows, columns_v);
    }
    for (std::int64_t i = 0; i < rows; ++i)
      store(dq_.data() + i * packed_.keys.columns(), problem_.scale, dq.row(batch, head, first + i));
  }

  /// Stores the gradients of keys and values.
  void store_keys_and_values(std::int64_t batch, std::int64_t kv_head,
                             HostHeadsView<typename Types::result> dk,
                             HostHeadsView<typename Types::result> dv) {
    for (std::int64_t j = 0; j < problem_.keys; ++j) {
      const std::int64_t row = j / keys_per_block * sizes_.key_rows + j % keys_per_block;
      store(dk_.data() + row * packed_.queries.columns(), problem_.scale, dk.row(batch, kv_head, j));
      store(dv_.data() + row * packed_.douts.columns(), 1.0f, dv.row(batch, kv_head, j));
    }
  }

 private:
  /// Whether weights are multiplied in a narrower dtype than they are computed in.
  static constexpr bool narrow = !std::same_as<Tile, f32>;

  /// Those of its tiles: with whole blocks, or with as much as there is.
  struct Sizes {
    std::int64_t rows;  ///< of queries: the multiplier takes rows_at_once, transposing row_multiple()
    std::int64_t queries, keys;  ///< columns
    std::int64_t key_rows;       ///< of keys: the multiplier takes rows_at_once

    Sizes(const AttentionProblem& problem, const PackedOfAll& packed)
        : rows(std::max(rounded_up(std::min(problem.queries, queries_per_block), rows_at_once),
                        packed.queries.block_keys())),
          queries(packed.queries.block_keys()),
          keys(packed.keys.block_keys()),
          key_rows(rounded_up(keys, rows_at_once)) {}
  };

  /// The sum of dout out of each row, which is that of each weight and its gradient.
  template <class DO, class O>
  void find_deltas(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t rows,
                   HostHeadsView<const DO> dout, HostHeadsView<const O> out) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto gradient = dout.row(batch, head, first + i);
      const auto result = out.row(batch, head, first + i);
      deltas_[static_cast<std::size_t>(i)] = sum_of(problem_.width_v, [&](std::int64_t d) {
        const auto at = static_cast<std::size_t>(d);
        return convert_value<f32>(gradient[at]) * convert_value<f32>(result[at]);
      });
    }
  }

  /// What rounding has taken of the logarithms of the rows' sums, where that matters.
  void find_rests(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t rows,
                  std::int64_t needed, const f32* log_sums) {
    rests_.fill(0.0f);
    if (std::none_of(log_sums, log_sums + rows, is_coarse_log_sum)) return;
    std::array<f32, queries_per_block> sums{};
    for (std::int64_t block = 0; block * keys_per_block < needed; ++block) {
      score_block<Types>(problem_, packed_.keys, queries_.data(), batch, head, first, rows, block,
                         weights_.data());
      for (std::int64_t i = 0; i < rows; ++i) {
        const f32* const scores = weights_.data() + i * sizes_.keys;
        if (is_coarse_log_sum(log_sums[i]))
          sums[static_cast<std::size_t>(i)] +=
              sum_of(packed_.keys.padded_keys_in(block),
                     [&](std::int64_t j) { return math::exp_of_negative(scores[j] - log_sums[i]); });
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (sums[i] > 0) rests_[i] = std::log(sums[i]);
  }

  /// Row i of the scores becomes weights, and what weights were multiplied with gradients of scores; both as
  /// operands.
  void scores_to_weights(std::int64_t i, std::int64_t keys, f32 log_sum) {
    using Inside = typename Types::inside;
    constexpr f32 none = -std::numeric_limits<f32>::infinity();
    const auto count = static_cast<std::size_t>(keys);
    const std::span<f32> weights(weights_.data() + i * sizes_.keys, count),
        gradients(products_.data() + i * sizes_.keys, count);
    const f32 base = log_sum == none ? 0.0f : log_sum, rest = rests_[static_cast<std::size_t>(i)],
              delta = deltas_[static_cast<std::size_t>(i)];
    round_row<Inside, Types::saturate>(gradients);
    for (f32& weight : weights) weight = math::exp_of_negative((weight - base) - rest);
    round_row<Inside, Types::saturate>(weights);
    for (std::size_t j = 0; j < weights.size(); ++j) gradients[j] = weights[j] * (gradients[j] - delta);
    round_row<Inside, Types::saturate>(gradients);
    load_operands<Operand, Types::saturate>(std::span<const f32>(gradients),
                                            gradients_.data() + i * sizes_.keys);
    if constexpr (narrow)
      convert_row<Tile>(std::span<const f32>(weights),
                        std::span<Tile>(narrow_weights_.data() + i * sizes_.keys, count));
    else
      round_row<Operand>(weights);
  }

  /// Weights and gradients of scores with a row for each key, and zeros for queries up to `end`, which are
  /// not there.
  void transpose_tiles(std::int64_t rows, std::int64_t end, std::int64_t keys) {
    const auto transpose_tile = [&](Tile* tile, HostTensor<Tile>& to) {
      for (std::int64_t i = rows; i < end; ++i) std::fill_n(tile + i * sizes_.keys, keys, Tile{});
      transpose_columns<1>(HostView<const Tile>(tile, Shape{end, keys}, sizes_.keys), 0, keys, end, to.data(),
                           sizes_.queries);
    };
    transpose_tile(gradients_.data(), transposed_gradients_);
    if constexpr (narrow)
      transpose_tile(narrow_weights_.data(), transposed_weights_);
    else
      transpose_tile(weights_.data(), transposed_weights_);
  }

  template <class T>
  static void store(f32* computed, f32 factor, std::span<T> to) {
    for (std::size_t i = 0; i < to.size(); ++i) computed[i] *= factor;
    store_row<Types::saturate>(std::span<const f32>(computed, to.size()), to);
  }

  const AttentionProblem& problem_;
  const PackedOfAll& packed_;
  Sizes sizes_;
  HostTensor<Tile> queries_, douts_, gradients_, narrow_weights_, transposed_weights_, transposed_gradients_;
  HostTensor<f32> weights_, products_, dq_, dk_, dv_;
  std::array<f32, queries_per_block> deltas_, rests_;
  std::array<f32, rounded_up(keys_per_block, rows_at_once)> keep_;
};

}  // namespace detail
}  // namespace precast::host
