// Attention in training, and its gradients (Dao 2023): weights are computed once more in tiles, and nothing
// of the size of the scores is ever in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include <precast/host/attention/attention_scores.hpp>
#include <precast/host/attention/attention_tiles.hpp>
#include <precast/host/attention/flash_attention.hpp>
#include <precast/host/attention/packed_batches.hpp>
#include <precast/host/attention/plain_attention.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// What a head's gradients are computed from, packed as the multiplier reads it.
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

  /// What one batch takes of them.
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
        queries_(Shape{block_rows, packed.keys.depth()}),
        douts_(Shape{block_rows, packed.values.depth()}),
        gradients_(Shape{block_rows, keys_per_block}),
        transposed_weights_(Shape{block_rows, queries_per_block}),
        transposed_gradients_(Shape{block_rows, queries_per_block}),
        weights_(Shape{block_rows, keys_per_block}),
        products_(Shape{block_rows, keys_per_block}),
        dq_(Shape{block_rows, packed.keys.columns()}),
        dk_(Shape{packed.keys.blocks() * block_rows, packed.queries.columns()}),
        dv_(Shape{packed.keys.blocks() * block_rows, packed.douts.columns()}) {
    keep_.fill(1.0f);
    for (auto* tensor : {&dk_, &dv_}) std::fill(tensor->values().begin(), tensor->values().end(), 0.0f);
    for (auto* tile : {&transposed_weights_, &transposed_gradients_})
      std::fill(tile->values().begin(), tile->values().end(), Tile{});
  }

  /// What its tensors hold.
  static std::int64_t bytes(const PackedOfAll& packed) {
    const std::int64_t narrow = std::same_as<Tile, f32> ? 0 : 1,  // of transpose_tiles
        tiles = packed.keys.depth() + packed.values.depth() + (3 + narrow) * keys_per_block,
                       sums = 2 * keys_per_block + packed.keys.columns() +
                              packed.keys.blocks() * (packed.queries.columns() + packed.douts.columns());
    return block_rows * (tiles * std::int64_t{sizeof(Tile)} + sums * std::int64_t{sizeof(f32)});
  }

  /// Adds what one block of queries gives to dk and dv, and stores its own gradient.
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
    std::fill(dq_.values().begin(), dq_.values().end(), 0.0f);
    const std::int64_t needed = problem_.keys_seen_by(first + rows - 1), kv_head = problem_.kv_head(head);
    find_rests(batch, head, first, rows, needed, log_sums + first);
    for (std::int64_t block = 0; block * keys_per_block < needed; ++block) {
      score_block<Types>(problem_, packed_.keys, queries_.data(), batch, head, first, rows, block,
                         weights_.data());
      multiply_tile<Tile, Accumulate>(douts_.data(), packed_.values.depth(),
                                      packed_.values.keys(batch, kv_head, block), packed_.values.depth(),
                                      products_.data(), keys_per_block, nullptr, rows, keys_per_block);
      for (std::int64_t i = 0; i < rows; ++i) scores_to_weights(i, log_sums[first + i]);
      transpose_tiles(rows);
      const std::int64_t columns = packed_.keys.columns(), columns_v = packed_.douts.columns();
      multiply_tile<Tile, Accumulate>(gradients_.data(), keys_per_block,
                                      packed_.keys.values(batch, kv_head, block), keys_per_block, dq_.data(),
                                      columns, keep_.data(), rows, columns);
      multiply_tile<Tile, Accumulate>(transposed_gradients_.data(), queries_per_block,
                                      packed_.queries.values(batch, head, query_block), queries_per_block,
                                      dk_.data() + block * block_rows * columns, columns, keep_.data(),
                                      keys_per_block, columns);
      multiply_tile<Tile, Accumulate>(transposed_weights_.data(), queries_per_block,
                                      packed_.douts.values(batch, head, query_block), queries_per_block,
                                      dv_.data() + block * block_rows * columns_v, columns_v, keep_.data(),
                                      keys_per_block, columns_v);
    }
    for (std::int64_t i = 0; i < rows; ++i)
      store(dq_.data() + i * packed_.keys.columns(), problem_.scale, dq.row(batch, head, first + i));
  }

  /// Stores the gradients of keys and values.
  void store_keys_and_values(std::int64_t batch, std::int64_t kv_head,
                             HostHeadsView<typename Types::result> dk,
                             HostHeadsView<typename Types::result> dv) {
    for (std::int64_t j = 0; j < problem_.keys; ++j) {
      const std::int64_t row = j / keys_per_block * block_rows + j % keys_per_block;
      store(dk_.data() + row * packed_.queries.columns(), problem_.scale, dk.row(batch, kv_head, j));
      store(dv_.data() + row * packed_.douts.columns(), 1.0f, dv.row(batch, kv_head, j));
    }
  }

 private:
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
        const f32* const scores = weights_.data() + i * keys_per_block;
        if (is_coarse_log_sum(log_sums[i]))
          sums[static_cast<std::size_t>(i)] += sum_of(
              keys_per_block, [&](std::int64_t j) { return math::exp_of_negative(scores[j] - log_sums[i]); });
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (sums[i] > 0) rests_[i] = std::log(sums[i]);
  }

  /// Row i of the scores becomes weights, and what weights were multiplied with gradients of scores.
  void scores_to_weights(std::int64_t i, f32 log_sum) {
    using Inside = typename Types::inside;
    constexpr f32 none = -std::numeric_limits<f32>::infinity();
    const std::span<f32> weights(weights_.data() + i * keys_per_block, keys_per_block),
        gradients(products_.data() + i * keys_per_block, keys_per_block);
    const f32 base = log_sum == none ? 0.0f : log_sum, rest = rests_[static_cast<std::size_t>(i)],
              delta = deltas_[static_cast<std::size_t>(i)];
    round_row<Inside, Types::saturate>(gradients);
    for (f32& weight : weights) weight = math::exp_of_negative((weight - base) - rest);
    round_row<Inside, Types::saturate>(weights);
    for (std::size_t j = 0; j < weights.size(); ++j) gradients[j] = weights[j] * (gradients[j] - delta);
    round_row<Inside, Types::saturate>(gradients);
    load_operands<Operand, Types::saturate>(std::span<const f32>(gradients),
                                            gradients_.data() + i * keys_per_block);
  }

  /// Weights and gradients of scores with a row for each key; zeros for queries that are not there.
  void transpose_tiles(std::int64_t rows) {
    const HostView<const Tile> gradients(gradients_.data(), Shape{rows, keys_per_block}, keys_per_block);
    transpose_columns<1>(gradients, 0, keys_per_block, queries_per_block, transposed_gradients_.data());
    // Their rows are read: as operands they take the place of the gradients, which the next product reads.
    if constexpr (std::same_as<Tile, f32>) {
      if constexpr (!std::same_as<Operand, f32>)
        round_row<Operand>(std::span<f32>(weights_.data(), static_cast<std::size_t>(rows * keys_per_block)));
      const HostView<const f32> weights(weights_.data(), Shape{rows, keys_per_block}, keys_per_block);
      transpose_columns<1>(weights, 0, keys_per_block, queries_per_block, transposed_weights_.data());
    } else {
      HostTensor<Tile> narrow(Shape{rows, keys_per_block});
      convert_row<Tile>(
          std::span<const f32>(weights_.data(), static_cast<std::size_t>(rows * keys_per_block)),
          narrow.values());
      transpose_columns<1>(HostView<const Tile>(narrow.view()), 0, keys_per_block, queries_per_block,
                           transposed_weights_.data());
    }
  }

  template <class T>
  static void store(f32* computed, f32 factor, std::span<T> to) {
    for (std::size_t i = 0; i < to.size(); ++i) computed[i] *= factor;
    store_row<Types::saturate>(std::span<const f32>(computed, to.size()), to);
  }

  const AttentionProblem& problem_;
  const PackedOfAll& packed_;
  HostTensor<Tile> queries_, douts_, gradients_, transposed_weights_, transposed_gradients_;
  HostTensor<f32> weights_, products_, dq_, dk_, dv_;
  std::array<f32, queries_per_block> deltas_, rests_;
  std::array<f32, block_rows> keep_;
};

/// attention_gradient of batches that are packed together.
template <class Types, class ForwardOperand, class DO, class Q, class K, class V, class O>
void attention_gradient_of_batches(const AttentionProblem& problem, HostHeadsView<const DO> dout,
                                   HostHeadsView<const Q> q, HostHeadsView<const K> k,
                                   HostHeadsView<const V> v, HostHeadsView<const O> out, const f32* log_sums,
                                   HostHeadsView<typename Types::result> dq,
                                   HostHeadsView<typename Types::result> dk,
                                   HostHeadsView<typename Types::result> dv) {
  using Head = HeadGradient<Types, ForwardOperand>;
  const PackedForGradients<Types, ForwardOperand> packed(problem, dout, q, k, v);
  const std::int64_t tasks = problem.batch * problem.heads_kv, group = problem.heads / problem.heads_kv;
  task_memory(tasks, Head::bytes(packed));
  parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t batch = task / problem.heads_kv, kv_head = task % problem.heads_kv;
    Head gradient(problem, packed);
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (std::int64_t block = 0; block * queries_per_block < problem.queries; ++block)
        gradient.add_queries(batch, head, block, dout, q, out,
                             log_sums + (batch * problem.heads + head) * problem.queries, dq);
    gradient.store_keys_and_values(batch, kv_head, dk, dv);
  });
}

}  // namespace detail

/// plain_attention, or flash_attention, and into `log_sums` [B, H, Sq] the logarithm of the sum of e^score of
/// each row, in f32: -inf where a row sees no key.
template <class Types, class GradientTypes, bool Flash, class Choice, class Q, class K, class V>
void attention_with_log_sums(const AttentionProblem& problem, HostHeadsView<const Q> q,
                             HostHeadsView<const K> k, HostHeadsView<const V> v,
                             HostHeadsView<typename Types::result> out, HostView<f32> log_sums) {
  watch::ran_in<Types>();
  if constexpr (Flash)
    detail::flash_attention_of_rows<Types>(problem, q, k, v, out, log_sums.data());
  else
    detail::plain_attention_of_rows<Types>(problem, q, k, v, out, log_sums.data());
}

/// dq, dk and dv of an attention whose result is `out`, from that of its result. Operands, sums and what is
/// kept between the steps are rounded as Types says; scores are made of operands in ForwardOperand. A task
/// has a head of keys and values, and takes its queries in their order.
template <class Types, class ForwardOperand, class Choice, class DO, class Q, class K, class V, class O>
void attention_gradient(const AttentionProblem& problem, HostHeadsView<const DO> dout,
                        HostHeadsView<const Q> q, HostHeadsView<const K> k, HostHeadsView<const V> v,
                        HostHeadsView<const O> out, HostView<const f32> log_sums,
                        HostHeadsView<typename Types::result> dq, HostHeadsView<typename Types::result> dk,
                        HostHeadsView<typename Types::result> dv) {
  watch::ran_in<Types>();
  using Head = detail::HeadGradient<Types, ForwardOperand>;
  detail::for_packed_batches(problem, Head::PackedOfAll::bytes_of_batch(problem),
                             [&](const AttentionProblem& part, std::int64_t first) {
                               const auto of_part = [&](const auto& heads) {
                                 return detail::batches_between(heads, first, part.batch);
                               };
                               detail::attention_gradient_of_batches<Types, ForwardOperand>(
                                   part, of_part(dout), of_part(q), of_part(k), of_part(v), of_part(out),
                                   log_sums.data() + first * problem.heads * problem.queries, of_part(dq),
                                   of_part(dk), of_part(dv));
                             });
}

}  // namespace precast::host
