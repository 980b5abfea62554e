// Keys and values of attention, packed in the multiplier's layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <precast/host/attention/attention_tiles.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/problem/attention_problem.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

/// Keys and values of all of their heads, in blocks of keys_per_block, or of as many as there are where those
/// are fewer, as the multiplier reads them; zeros where a block or a head ends early.
template <class Tile>
class PackedKeysAndValues {
 public:
  static constexpr std::int64_t step = depth_step<Tile>;

  template <class Operand, bool Saturates, class K, class V>
  static PackedKeysAndValues of(const AttentionProblem& problem, HostHeadsView<const K> keys,
                                HostHeadsView<const V> values) {
    PackedKeysAndValues packed(problem);
    parallel_for(problem.batch * problem.heads_kv * packed.blocks_, [&](std::int64_t task) {
      const std::int64_t block = task % packed.blocks_, index = task / packed.blocks_;
      const std::int64_t batch = index / problem.heads_kv, head = index % problem.heads_kv;
      const std::int64_t first = block * keys_per_block;
      packed.template pack<Operand, Saturates>(
          block, [&](std::int64_t i) { return keys.row(batch, head, first + i); },
          [&](std::int64_t i) { return values.row(batch, head, first + i); },
          packed.keys_.data() + task * packed.key_block_, packed.values_.data() + task * packed.value_block_);
    });
    return packed;
  }

  /// The bytes of the blocks of one batch.
  static std::int64_t bytes_of_batch(AttentionProblem problem) {
    problem.batch = 0;
    const PackedKeysAndValues sizes(problem);
    return problem.heads_kv * sizes.blocks_ * bytes_for<Tile>(sizes.key_block_ + sizes.value_block_);
  }

  /// Values of a head, rounded up to what the multiplier takes.
  std::int64_t depth() const { return depth_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t blocks() const { return blocks_; }
  /// The capacity of a block in keys.
  std::int64_t block_keys() const { return block_keys_; }
  /// The keys of block `block`, without zero padding.
  std::int64_t keys_in(std::int64_t block) const {
    return std::min(keys_per_block, all_keys_ - block * keys_per_block);
  }
  /// The same with zero padding: the packed keys of the block.
  std::int64_t padded_keys_in(std::int64_t block) const {
    return rounded_up(keys_in(block), row_multiple<Tile>());
  }
  /// [depth, block_keys()]
  PackedOperand<Tile> keys(std::int64_t batch, std::int64_t kv_head, std::int64_t block) const {
    return {keys_.data() + ((batch * heads_ + kv_head) * blocks_ + block) * key_block_, depth_,
            panel_columns<Tile>(block_keys_)};
  }
  /// [block_keys(), columns]
  PackedOperand<Tile> values(std::int64_t batch, std::int64_t kv_head, std::int64_t block) const {
    return {values_.data() + ((batch * heads_ + kv_head) * blocks_ + block) * value_block_, block_keys_,
            panel_columns<Tile>(columns_)};
  }

 private:
  explicit PackedKeysAndValues(const AttentionProblem& problem)
      : heads_(problem.heads_kv),
        all_keys_(problem.keys),
        depth_(rounded_up(problem.width, depth_multiple<Tile>())),
        columns_(rounded_up(problem.width_v, Lanes::width)),
        blocks_(ceil_divide(problem.keys, keys_per_block)),
        block_keys_(std::min(keys_per_block, rounded_up(problem.keys, row_multiple<Tile>()))),
        key_block_(depth_ * rounded_up(block_keys_, panel_columns<Tile>(block_keys_))),
        value_block_(rounded_up(columns_, panel_columns<Tile>(columns_)) * block_keys_),
        keys_(Shape{problem.batch * heads_, blocks_, key_block_}),
        values_(Shape{problem.batch * heads_, blocks_, value_block_}) {}

  template <class Operand, bool Saturates, class KeyRow, class ValueRow>
  void pack(std::int64_t block, const KeyRow& key_row, const ValueRow& value_row, Tile* packed_keys,
            Tile* packed_values) const {
    // One block in the order of its rows first, so that packing is a transposition within the cache.
    const std::int64_t stride = std::max(depth_, columns_), count = keys_in(block),
                       end = padded_keys_in(block);
    HostTensor<Tile> rows(Shape{end, stride});
    if (depth_ > 0) load_tile<Operand, Saturates>(count, end, depth_, stride, key_row, rows.data());
    const std::int64_t keys_at_once = panel_columns<Tile>(block_keys_);
    for (std::int64_t key = 0; key < end; key += keys_at_once) {
      const std::int64_t some = std::min(keys_at_once, end - key);
      transpose_columns<step>(HostView<const Tile>(rows.data() + key * stride, Shape{some, stride}, stride),
                              0, depth_, some, packed_keys + key * depth_, keys_at_once);
    }
    const std::int64_t panel = panel_columns<Tile>(columns_);
    if (step > 1 && columns_ > 0)
      load_tile<Operand, Saturates>(count, end, columns_, stride, value_row, rows.data());
    for (std::int64_t first = 0; first < columns_; first += panel) {
      const std::int64_t width = std::min(panel, columns_ - first);
      if constexpr (step == 1) {  // rows of a panel are rows of values
        const auto part = [&](std::int64_t i) {
          const auto row = value_row(i);
          const auto from = std::min(static_cast<std::size_t>(first), row.size());
          return row.subspan(from, std::min(static_cast<std::size_t>(width), row.size() - from));
        };
        load_tile<Operand, Saturates>(count, end, width, panel, part, packed_values + first * block_keys_);
      } else {
        for (std::int64_t i = 0; i < end; i += step) {
          const Tile* const from = rows.data() + i * stride + first;
          Tile* const to = packed_values + first * block_keys_ + i * panel;
          for (std::int64_t d = 0; d < width; ++d)
            for (std::int64_t s = 0; s < step; ++s) to[d * step + s] = from[s * stride + d];
        }
      }
    }
  }

  std::int64_t heads_, all_keys_, depth_, columns_, blocks_, block_keys_, key_block_, value_block_;
  HostTensor<Tile> keys_, values_;
};

}  // namespace detail
}  // namespace precast::host
