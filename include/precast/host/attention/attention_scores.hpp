// Scores of attention, recomputed for its gradients.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include <precast/host/attention/attention_tiles.hpp>
#include <precast/host/attention/packed_keys_and_values.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/softmax/softmax.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
#include <precast/problem/math.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// Queries of a block; as many as it has keys, so that both are packed by the same code.
inline constexpr std::int64_t queries_per_block = keys_per_block;

/// The dtype in which tiles are multiplied: f32 where the operands of gradients and of the forward op differ.
template <class Types, class ForwardOperand>
using gradient_tile = std::conditional_t<std::same_as<ForwardOperand, typename Types::operand>,
                                         tile_type<ForwardOperand, typename Types::accumulate>, f32>;

/// scores [rows, packed.block_keys()] of a block of queries and one of keys, zero padding included, rounded
/// as the op stores them: -inf where a query does not see a key.
template <class Types, class Tile>
void score_block(const AttentionProblem& problem, const PackedKeysAndValues<Tile>& packed,
                 const Tile* queries, std::int64_t batch, std::int64_t head, std::int64_t first,
                 std::int64_t rows, std::int64_t block, f32* scores) {
  using Inside = typename Types::inside;
  constexpr f32 none = -std::numeric_limits<f32>::infinity();
  const std::int64_t key = block * keys_per_block, keys = packed.padded_keys_in(block),
                     stride = packed.block_keys();
  multiply_tile<Tile, typename Types::accumulate>(queries, packed.depth(),
                                                  packed.keys(batch, problem.kv_head(head), block),
                                                  packed.depth(), scores, stride, nullptr, rows, keys);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::span<f32> row(scores + i * stride, static_cast<std::size_t>(keys));
    const std::int64_t seen = std::clamp(problem.keys_seen_by(first + i) - key, std::int64_t{0}, keys);
    const std::span<f32> there = row.first(static_cast<std::size_t>(seen));
    const f32* const bias = problem.bias_row(head, first + i);
    for (std::size_t j = 0; j < there.size(); ++j)
      there[j] = bias ? std::fma(there[j], problem.scale, bias[key + static_cast<std::int64_t>(j)])
                      : there[j] * problem.scale;
    round_row<Inside, Types::saturate>(there);
    if (rounding_unmasks<Inside, Types::saturate> && bias)  // a masked score stays masked
      for (std::size_t j = 0; j < there.size(); ++j)
        if (bias[key + static_cast<std::int64_t>(j)] == none) there[j] = none;
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(seen), row.end(), none);
  }
}

/// Rows [first, first + rows) of a head as a tile, with zeros up to `stride` and for the rows that the
/// multiplier takes with the last.
template <class Operand, bool Saturates, class Tile, class From>
void load_block(HostHeadsView<const From> from, std::int64_t batch, std::int64_t head, std::int64_t first,
                std::int64_t rows, std::int64_t stride, Tile* to) {
  load_tile<Operand, Saturates>(
      rows, rounded_up(rows, rows_at_once), stride, stride,
      [&](std::int64_t i) { return from.row(batch, head, first + i); }, to);
}

}  // namespace detail

}  // namespace precast::host
