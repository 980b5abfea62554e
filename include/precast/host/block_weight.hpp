// PackedWeight of blocks: as they are stored, row after row. A panel is decoded into the cache, by whoever
// multiplies it, and rounded to operands there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include <precast/dtype/decode_run.hpp>
#include <precast/host/operands.hpp>
#include <precast/host/packed_weight.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/stored_matrix.hpp>

namespace precast::host {

/// A weight [features, columns] in blocks, each row of which begins with one. It counts panels and columns as
/// a weight of scalars does.
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
  static PackedWeight copy_of(HostStoredView<const Storage> weight) {
    return PackedWeight(BlockMatrix<Storage, HostMemory>(weight));
  }

  std::int64_t features() const { return blocks_.rows(); }
  std::int64_t columns() const { return blocks_.columns(); }
  std::int64_t columns_at_once() const { return 1; }
  std::int64_t padded_columns() const { return rounded_up(columns(), 16); }
  std::int64_t panel_width() const { return std::min(widest_panel, rounded_up(features(), 16)); }
  std::int64_t panels() const { return ceil_divide(features(), widest_panel); }
  std::int64_t bytes() const { return blocks_.bytes(); }
  HostStoredView<const Storage> view() const { return blocks_.view(); }
  /// One value, for those who look.
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

/// Columns [first, first + count) of a panel as operands, `At` of them together: to[((column - first) / At *
/// panel_width() + feature) * At + (column - first) % At]. Zeros stand where features or columns end early.
template <std::int64_t At, class Operand, bool Saturates, OneDnnOperand Multiplied, BlockDtype Storage>
void decode_panel(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t first,
                  std::int64_t count, Multiplied* to) {
  constexpr std::int64_t at_once = 64;
  const std::int64_t width = weight.panel_width();
  std::array<f32, at_once> values;
  std::array<Multiplied, at_once> operands;
  for (std::int64_t f = 0; f < width; ++f) {
    const std::int64_t feature = panel * widest_panel + f;
    const std::int64_t columns = feature < weight.features() ? weight.columns() : 0;
    for (std::int64_t k = 0; k < count; k += at_once) {
      const std::int64_t some = std::min(at_once, count - k);
      const auto present = static_cast<std::size_t>(std::clamp<std::int64_t>(columns - first - k, 0, some));
      if (present)
        decode_run<Storage>(weight.view().row(feature), first + k, static_cast<std::int64_t>(present),
                            values.data());
      operand_row<Operand, Saturates>(std::span<const f32>(values.data(), present),
                                      std::span<Multiplied>(operands.data(), present));
      std::fill(operands.begin() + static_cast<std::ptrdiff_t>(present), operands.end(), Multiplied{});
      for (std::int64_t i = 0; i < some; ++i)
        to[((k + i) / At * width + f) * At + (k + i) % At] = operands[static_cast<std::size_t>(i)];
    }
  }
}

}  // namespace detail

/// Columns of a panel as operands, one after another, as of a weight of scalars.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, BlockDtype Storage>
void operand_columns(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t first,
                     std::int64_t count, Multiplied* to) {
  detail::decode_panel<1, Operand, Saturates>(weight, panel, first, count, to);
}

/// A panel as pairs of bf16 operands; zeros up to `padded_columns`.
template <class Operand, bool Saturates, BlockDtype Storage>
void operand_pairs(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t padded_columns,
                   bf16* to) {
  detail::decode_panel<2, Operand, Saturates>(weight, panel, 0, padded_columns, to);
}

}  // namespace precast::host
