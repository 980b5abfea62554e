// Weights in blocks: PackedWeight of a block dtype, row after row as they are stored. Also the decoding,
// into the cache, of a panel of these, or of blocks whose format is known only at run time, by the task
// that multiplies it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/dtype/decode_run.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/memory/memory.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/stored_matrix.hpp>

namespace precast::host {

/// A weight [features, columns] in blocks, each row of which begins with one. Its panels and columns are
/// counted as in a weight of scalars.
template <BlockDtype Storage>
class PackedWeight<Storage> {
 public:
  /// Calls `fill(first_feature, HostStoredView<Storage> rows)`, which writes the blocks of these rows.
  template <class Types, class Fill>
  static PackedWeight filled(const Shape& shape, Fill&& fill) {
    PackedWeight packed{BlockMatrix<Storage, HostMemory>(shape)};
    fill(std::int64_t{0}, packed.blocks_.view());
    return packed;
  }
  /// A weight in host memory: the host makes a copy.
  template <class Types>
  static PackedWeight borrowed(const PendingView<HostStoredView<const Storage>, HostMemory>& weight) {
    return PackedWeight(BlockMatrix<Storage, HostMemory>(weight.view()));
  }

  std::int64_t features() const { return blocks_.rows(); }
  std::int64_t columns() const { return blocks_.columns(); }
  std::int64_t columns_at_once() const { return 1; }
  std::int64_t padded_columns() const { return rounded_up(columns(), 16); }
  std::int64_t panel_width() const { return std::min(widest_panel, rounded_up(features(), 16)); }
  std::int64_t panels() const { return ceil_divide(features(), widest_panel); }
  std::int64_t bytes() const { return blocks_.bytes(); }
  /// Whether it has panels that are multiplied in place: never.
  static constexpr bool in_storage() { return false; }
  /// Null: the format is known at compile time.
  static constexpr const BlockDecoder* decoder() { return nullptr; }
  HostStoredView<const Storage> view() const { return blocks_.view(); }
  /// One value, for inspection.
  f32 at(std::int64_t feature, std::int64_t column) const {
    f32 value;
    decode_run<Storage>(blocks_.view().row(feature), column, 1, &value);
    return value;
  }

 private:
  explicit PackedWeight(BlockMatrix<Storage, HostMemory> blocks) : blocks_(std::move(blocks)) {}

  BlockMatrix<Storage, HostMemory> blocks_;
};

namespace detail {

/// Columns [first, first + count) of a panel of `width` features as operands, `At` of them together:
/// to[((column - first) / At * width + feature) * At + (column - first) % At]. `decode(feature, some, from,
/// columns, values, stride)` writes columns [from, from + columns) of rows [feature, feature + some) of the
/// panel as Decoded. Missing features, and columns beyond `columns`, are zeros.
template <std::int64_t At, class Operand, bool Saturates, OneDnnOperand Decoded, OneDnnOperand Multiplied,
          class Decode>
void decode_panel(const Decode& decode, std::int64_t features, std::int64_t width, std::int64_t columns,
                  std::int64_t first, std::int64_t count, Multiplied* to) {
  // A block of the largest formats, and 16 KiB of f32, which fit the L1 cache.
  constexpr std::int64_t at_once = 256, features_at_once = 16;
  alignas(64) Decoded decoded[features_at_once * at_once];
  alignas(64) Multiplied rounded[std::is_same_v<Decoded, Multiplied> ? 1 : features_at_once * at_once];
  for (std::int64_t k = 0; k < count; k += at_once)
    for (std::int64_t feature = 0; feature < width; feature += features_at_once) {
      const std::int64_t some = std::min(at_once, count - k);
      const std::int64_t rows = std::clamp<std::int64_t>(features - feature, 0, features_at_once);
      const std::int64_t present = rows ? std::clamp<std::int64_t>(columns - first - k, 0, some) : 0;
      if (present > 0) decode(feature, rows, first + k, present, decoded, at_once);
      const auto row_of = [&](auto* values, std::int64_t row) {
        return std::span(values + row * at_once, static_cast<std::size_t>(present));
      };
      const Multiplied* operands;
      if constexpr (std::is_same_v<Decoded, Multiplied>) {
        operands = decoded;
        if constexpr (!widens_exactly<Operand, Decoded>)
          for (std::int64_t r = 0; r < rows; ++r) round_row<Operand, Saturates>(row_of(decoded, r));
      } else {
        operands = rounded;
        for (std::int64_t r = 0; r < rows; ++r)
          operand_row<Operand, Saturates>(std::span<const Decoded>(row_of(decoded, r)), row_of(rounded, r));
      }
      transpose_columns<At>(HostView<const Multiplied>(operands, Shape{rows, present}, at_once),
                            std::int64_t{0}, some, std::min(features_at_once, width - feature),
                            to + k * width + feature * At, width);
    }
}

/// decode_panel for a weight whose format is known at run time, by a function of its decoder: the one for
/// bf16 where operands need no more than that rounding.
template <std::int64_t At, class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype Storage>
void decode_panel_of(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t first,
                     std::int64_t count, Multiplied* to) {
  constexpr bool narrow = std::is_same_v<Multiplied, bf16> && std::is_same_v<Operand, bf16> && !Saturates;
  using Decoded = std::conditional_t<narrow, bf16, f32>;
  const std::int64_t first_feature = panel * widest_panel,
                     features = std::min(widest_panel, weight.features() - first_feature);
  const BlockRows rows = weight.rows().from_row(first_feature);
  DecodeRows<Decoded> function;
  if constexpr (narrow)
    function = weight.decoder()->to_bf16;
  else
    function = weight.decoder()->to_f32;
  decode_panel<At, Operand, Saturates, Decoded>(
      [&](std::int64_t feature, std::int64_t some, std::int64_t from, std::int64_t columns, Decoded* values,
          std::int64_t stride) { function(rows.from_row(feature), some, from, columns, values, stride); },
      features, weight.panel_width(), weight.columns(), first, count, to);
}

/// decode_panel for a weight whose format is its storage.
template <std::int64_t At, class Operand, bool Saturates, OneDnnOperand Multiplied, BlockDtype Storage>
void decode_panel_of(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t first,
                     std::int64_t count, Multiplied* to) {
  const std::int64_t first_feature = panel * widest_panel,
                     features = std::min(widest_panel, weight.features() - first_feature);
  decode_panel<At, Operand, Saturates, f32>(
      [&](std::int64_t feature, std::int64_t some, std::int64_t from, std::int64_t columns, f32* values,
          std::int64_t stride) {
        for (std::int64_t f = 0; f < some; ++f)
          decode_run<Storage>(weight.view().row(first_feature + feature + f), from, columns,
                              values + f * stride);
      },
      features, weight.panel_width(), weight.columns(), first, count, to);
}

}  // namespace detail

/// Columns [first, first + count) of a panel as operands, one after another, as of a weight of scalars.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, BlockDtype Storage>
void operand_columns(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t first,
                     std::int64_t count, Multiplied* to) {
  detail::decode_panel_of<1, Operand, Saturates>(weight, panel, first, count, to);
}

/// Columns [first, first + count) of a panel of blocks as operands, in the order in which products of
/// Multiplied take them: one after another, or bf16 in pairs. `first` and `count` are even.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, Dtype Storage>
void decoded_columns(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t first,
                     std::int64_t count, Multiplied* to) {
  constexpr std::int64_t at = std::is_same_v<Multiplied, bf16> ? 2 : 1;
  detail::decode_panel_of<at, Operand, Saturates>(weight, panel, first, count, to);
}

}  // namespace precast::host
