// Flash attention (Dao et al. 2022) on the host: tiles of scores that never leave the cache, with an online
// softmax.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include <precast/host/attention/attention_tiles.hpp>
#include <precast/host/attention/packed_batches.hpp>
#include <precast/host/attention/packed_keys_and_values.hpp>
#include <precast/problem/math.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// The rows of queries that one task takes: their scores of a block, 48 KiB, stay in the second-level cache.
inline constexpr std::int64_t flash_rows = 96;
static_assert(flash_rows % rows_at_once == 0);

/// One tile of queries of one head: its running maxima, sums and weighted values.
template <class Types, class Tile>
class FlashTile {
 public:
  FlashTile(const AttentionProblem& problem, const PackedKeysAndValues<Tile>& packed)
      : problem_(problem),
        packed_(packed),
        stride_(packed.block_keys()),
        queries_(Shape{rows_of(problem), packed.depth()}),
        scores_(Shape{rows_of(problem), stride_}),
        weights_(in_place ? Shape{0} : Shape{rows_of(problem), stride_}),
        result_(Shape{rows_of(problem), packed.columns()}) {}

  /// The bytes of its tensors.
  static std::int64_t bytes(const AttentionProblem& problem, const PackedKeysAndValues<Tile>& packed) {
    const std::int64_t stride = packed.block_keys();
    return rows_of(problem) * ((packed.depth() + (in_place ? 0 : stride)) * std::int64_t{sizeof(Tile)} +
                               (packed.columns() + stride) * std::int64_t{sizeof(f32)});
  }

  /// Attends with queries [first, first + rows) of a head; `query_row(i)` and `out_row(i)` are the head's
  /// slices. Unless it is null, `log_sums` gets the logsumexp of each row of scores.
  template <class QueryRow, class OutRow>
  void run(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t rows, QueryRow&& query_row,
           OutRow&& out_row, f32* log_sums) {
    const std::int64_t padded = rounded_up(rows, rows_at_once);
    load_tile<typename Types::operand, Types::saturate>(rows, padded, packed_.depth(), packed_.depth(),
                                                        query_row, queries_.data());
    std::fill_n(result_.data(), padded * packed_.columns(), 0.0f);
    std::fill_n(maxima_.begin(), padded, -std::numeric_limits<f32>::infinity());
    std::fill_n(rests_.begin(), padded, 0.0f);
    std::fill_n(factors_.begin(), padded, 0.0f);
    std::fill_n(sums_.begin(), padded * Lanes::width, 0.0f);
    const std::int64_t needed = problem_.keys_seen_by(first + rows - 1), kv_head = problem_.kv_head(head);
    const std::int64_t strip = strip_rows(packed_);
    for (std::int64_t block = 0; block * keys_per_block < needed; ++block) {
      const std::int64_t key = block * keys_per_block, keys = packed_.padded_keys_in(block);
      for (std::int64_t from = 0; from < rows; from += strip) {
        const std::int64_t end = std::min(rows, from + strip);
        multiply_tile<Tile, f32>(queries_.data() + from * packed_.depth(), packed_.depth(),
                                 packed_.keys(batch, kv_head, block), packed_.depth(),
                                 scores_.data() + from * stride_, stride_, nullptr, end - from, keys);
        // A loop over rows would wait for the maximum of each row before the next.
        for (std::int64_t few = from; few < end; few += rows_at_once) {
          const std::int64_t few_end = std::min(end, few + rows_at_once);
          for (std::int64_t i = few; i < few_end; ++i)
            find_maximum(i, std::clamp(problem_.keys_seen_by(first + i) - key, std::int64_t{0}, keys),
                         problem_.bias_row(head, first + i), key, keys);
          for (std::int64_t i = few; i < few_end; ++i) scores_to_weights(i, keys);
        }
        multiply_tile<Tile, f32>(weights() + from * stride_, stride_, packed_.values(batch, kv_head, block),
                                 keys, result_.data() + from * packed_.columns(), packed_.columns(),
                                 factors_.data() + from, end - from, packed_.columns());
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      // Without a mask a sum of 0 means scores of -inf throughout: NaN, as softmax has it.
      const f32 sum = sum_of_lanes(Lanes::load(sums_.data() + i * Lanes::width));
      const f32 inverse = sum == 0 && problem_.masks() ? 0.0f : 1.0f / sum;
      if (log_sums)  // of a sum of 0: -inf
        log_sums[i] = bases_[static_cast<std::size_t>(i)] + std::log(sum);
      f32* row = result_.data() + i * packed_.columns();
      for (std::int64_t d = 0; d < problem_.width_v; ++d) row[d] *= inverse;
      store_row<Types::saturate>(std::span<const f32>(row, static_cast<std::size_t>(problem_.width_v)),
                                 out_row(i));
    }
  }

 private:
  /// The rows of a tile, rounded up to rows_at_once.
  static std::int64_t rows_of(const AttentionProblem& problem) {
    return std::min(flash_rows, rounded_up(problem.queries, rows_at_once));
  }

  /// Weights overwrite their scores where both are f32.
  static constexpr bool in_place = std::same_as<Tile, f32>;
  Tile* weights() {
    if constexpr (in_place)
      return scores_.data();
    else
      return weights_.data();
  }

  /// Rows whose scores are weighed while they, and the block that they are of, are in the nearest cache.
  /// Where that is too small for the block, or tile registers want many rows: all of them.
  static std::int64_t strip_rows(const PackedKeysAndValues<Tile>& packed) {
    constexpr std::int64_t few = 4 * rows_at_once, nearest_cache = 32 << 10;
    static_assert(flash_rows % few == 0);
    const std::int64_t block =
        (packed.depth() + packed.columns()) * packed.block_keys() * std::int64_t{sizeof(Tile)};
    if constexpr (fits_tile_registers<Tile>)
      if (tile_registers_usable()) return flash_rows;
    return block < nearest_cache ? few : flash_rows;
  }

  /// What scores are multiplied with inside the exponent: their scale, unless a bias comes between, a scale
  /// below 0 turns their order, or one of 0 makes NaN of those that are masked.
  f32 scale_in_exponent() const {
    return problem_.bias.data() || problem_.scale <= 0 ? 1.0f : problem_.scale;
  }

  /// Masks what row i does not see of `keys` scores, `seen` of them, and finds the largest so far.
  void find_maximum(std::int64_t i, std::int64_t seen, const f32* bias, std::int64_t key, std::int64_t keys) {
    const auto row = static_cast<std::size_t>(i);
    f32* scores = scores_.data() + i * stride_;
    constexpr f32 none = -std::numeric_limits<f32>::infinity();
    if (bias || problem_.scale <= 0)
      for (std::int64_t j = 0; j < seen; ++j)
        scores[j] = std::fma(scores[j], problem_.scale, bias ? bias[key + j] : 0.0f);
    for (std::int64_t j = seen; j < keys; ++j) scores[j] = none;
    Lanes best = Lanes::broadcast(none);
    for (std::int64_t j = 0; j < keys; j += Lanes::width) best = best.max(Lanes::load(scores + j));
    const f32 scale = scale_in_exponent(), raw = largest_lane(best), scaled = raw * scale;
    // The product of a score and its scale is rounded in the maximum alone, not in the exponents. What that
    // took of a large one is beyond what e^x can take: even the largest score had no weight.
    constexpr f32 coarse = 0x1p20f;
    const f32 rest = std::fabs(scaled) >= coarse && scaled != none ? std::fma(raw, scale, -scaled) : 0.0f;
    const f32 before = maxima_[row], rest_before = rests_[row];
    if (scaled > before || (scaled == before && rest > rest_before)) {
      maxima_[row] = scaled;
      rests_[row] = rest;
    }
    bases_[row] = maxima_[row] == none ? 0.0f : maxima_[row];
    factors_[row] = math::exp_of_negative((before - bases_[row]) + (rest_before - rests_[row]));
  }

  /// Replaces the scores of row i by weights relative to the largest score so far.
  void scores_to_weights(std::int64_t i, std::int64_t keys) {
    const auto row = static_cast<std::size_t>(i);
    f32* scores = scores_.data() + i * stride_;
    const f32 scale = scale_in_exponent(), base = bases_[row], rest = rests_[row];
    if (rest == 0)
      for (std::int64_t j = 0; j < keys; ++j)
        scores[j] = math::exp_of_negative(std::fma(scores[j], scale, -base));
    else
      for (std::int64_t j = 0; j < keys; ++j)
        scores[j] = math::exp_of_negative(std::fma(scores[j], scale, -base) - rest);
    f32* sums = sums_.data() + i * Lanes::width;
    Lanes sum = Lanes::load(sums) * Lanes::broadcast(factors_[row]);
    for (std::int64_t j = 0; j < keys; j += Lanes::width) {
      const Lanes weight = Lanes::load(scores + j);
      sum = sum + weight;
      // No weight is subnormal: what would be under 1e-37 is 0.
      if constexpr (std::same_as<Tile, bf16>) store_rounded(weight, weights() + i * stride_ + j);
    }
    sum.store(sums);
    if constexpr (in_place)
      round_row<typename Types::operand>(std::span<f32>(scores, static_cast<std::size_t>(keys)));
  }

  const AttentionProblem& problem_;
  const PackedKeysAndValues<Tile>& packed_;
  std::int64_t stride_;  ///< from a row of scores to the next
  HostTensor<Tile> queries_;
  HostTensor<f32> scores_;
  HostTensor<Tile> weights_;
  HostTensor<f32> result_;
  std::array<f32, flash_rows> maxima_, bases_, factors_;
  std::array<f32, flash_rows> rests_;  ///< what the maxima lost as they were rounded, where they are large
  std::array<f32, flash_rows * Lanes::width> sums_;  ///< in lanes, which are only added up at the end
};

/// flash_attention_of_rows for batches that are packed together.
template <class Types, class Q, class K, class V>
void flash_attention_of_batches(const AttentionProblem& problem, HostHeadsView<const Q> q,
                                HostHeadsView<const K> k, HostHeadsView<const V> v,
                                HostHeadsView<typename Types::result> out, f32* log_sums) {
  static_assert(
      std::is_same_v<typename Types::accumulate, f32> && std::is_same_v<typename Types::inside, f32>,
      "Flash attention sums and keeps its scores in f32.");
  using Tile = tile_type<typename Types::operand, f32>;
  const auto packed =
      PackedKeysAndValues<Tile>::template of<typename Types::operand, Types::saturate>(problem, k, v);
  const std::int64_t tiles = ceil_divide(problem.queries, flash_rows);
  const std::int64_t tasks = problem.batch * problem.heads * tiles;
  task_memory(tasks, FlashTile<Types, Tile>::bytes(problem, packed));
  parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t first = task % tiles * flash_rows, head = task / tiles % problem.heads;
    const std::int64_t batch = task / tiles / problem.heads;
    const std::int64_t rows = std::min(flash_rows, problem.queries - first);
    FlashTile<Types, Tile> tile(problem, packed);
    tile.run(
        batch, head, first, rows, [&](std::int64_t i) { return q.row(batch, head, first + i); },
        [&](std::int64_t i) { return out.row(batch, head, first + i); },
        log_sums ? log_sums + (batch * problem.heads + head) * problem.queries + first : nullptr);
  });
}

/// Flash attention; also writes the logsumexp of scores into `log_sums` [B, H, Sq], unless it is null.
template <class Types, class Q, class K, class V>
void flash_attention_of_rows(const AttentionProblem& problem, HostHeadsView<const Q> q,
                             HostHeadsView<const K> k, HostHeadsView<const V> v,
                             HostHeadsView<typename Types::result> out, f32* log_sums) {
  using Packed = PackedKeysAndValues<tile_type<typename Types::operand, f32>>;
  for_packed_attention<Packed>(problem, q, k, v, out, log_sums,
                               [](const auto&... part) { flash_attention_of_batches<Types>(part...); });
}

}  // namespace detail

/// Attention with tiles of f32 scores. q, k and v, of the problem's sizes, are rounded to the operand dtype,
/// the weights e^(score - running maximum) too; all sums are f32, and the result is rounded once. It is the
/// same code for every choice.
template <class Types, class Choice, class Q, class K, class V>
void flash_attention(const AttentionProblem& problem, HostHeadsView<const Q> q, HostHeadsView<const K> k,
                     HostHeadsView<const V> v, HostHeadsView<typename Types::result> out) {
  watch::ran_in<Types>();
  detail::flash_attention_of_rows<Types>(problem, q, k, v, out, nullptr);
}

}  // namespace precast::host
