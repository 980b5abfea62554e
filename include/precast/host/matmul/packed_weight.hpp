// PackedWeight: a weight in the order in which products read it. Scalars are packed into panels, whose
// dtype may be narrower than Storage. Blocks stay encoded, both those of a run-time format
// (host/blocks/block_decoder.hpp) and those of a policy's storage (host/matmul/block_weight.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/pack_rows.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/scalar_reader.hpp>
#include <precast/host/rows/transpose.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/memory.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// Whether products with these dtypes need a bias in the result's dtype beside the one in f32: never here.
template <class Types>
inline constexpr bool holds_narrow_bias = false;

/// Whether weights of a storage dtype may instead be held in the block format of a file.
template <Dtype Storage>
inline constexpr bool holds_blocks_of_files = ScalarDtype<Storage>;

/// Whether panels of a storage dtype may instead hold a file's dtype T: narrower and exactly representable,
/// user-defined dtypes included. Not for bf16, whose columns are in pairs, nor for f16: both are small
/// already.
template <Dtype Storage, ScalarDtype T>
inline constexpr bool holds_scalars_of_files = [] {
  if constexpr (std::is_same_v<Storage, f32>) return sizeof(T) < sizeof(f32) && widens_exactly<f32, T>;
  return false;
}();

/// How many columns of a weight products with these dtypes interleave on this CPU: 1, or 2 where bf16 is
/// multiplied as bf16.
template <class Types>
std::int64_t columns_at_once_for() {
  return in_multiplied_dtype<Types>([](auto multiplied) {
    constexpr bool pairs =
        std::is_same_v<decltype(multiplied), bf16> && std::is_same_v<typename Types::storage, bf16>;
    return std::int64_t{pairs ? 2 : 1};
  });
}

/// A weight of scalars [features, columns] in panels of 64 features, one after another, each of them
/// [columns, features]; where bf16 is multiplied as bf16, [columns / 2, features, 2], as the instruction
/// takes pairs. oneDNN calls that BA16a64b and BA16a64b2a, and multiplies any number of features from the
/// start of a panel. A weight of fewer features is one panel, as wide as the next multiple of 16. Panels
/// are padded with zeros: at most 63 features and 31 columns.
///
/// Or the weight is in the block format of its file, in the file's layout: then it has a decoder and no
/// panels. Products of more than a few rows decode blocks into the order of panels, with the bits of a
/// weight of the decoded values rounded to the policy's operands. Panels of a narrower dtype are likewise
/// widened by the product.
template <Dtype Storage>
class PackedWeight {
 public:
  /// Packs a weight [features, columns] for products with `Types`: calls `fill(first_feature, HostView<Held>
  /// rows)` for one group of rows after another, which writes them. Each is packed before the next, so that a
  /// weight that is being loaded is never in memory twice. Held is Storage, or what holds_scalars_of_files.
  template <class Types, ScalarDtype Held = Storage, class Fill>
  static PackedWeight filled(const Shape& shape, Fill&& fill) {
    PackedWeight packed(shape[0], shape[1], columns_at_once_for<Types>(), sizeof(Held));
    if constexpr (!std::is_same_v<Held, Storage>) {
      static_assert(holds_scalars_of_files<Storage, Held>,
                    "PackedWeight: panels hold Storage, or scalars of a file that are narrower.");
      packed.widen_ = reader_of<Held, Storage>();
    }
    HostTensor<Held> rows(Shape{std::min(widest_panel, shape[0]), shape[1]});
    for (std::int64_t first = 0; first < shape[0]; first += widest_panel) {
      const HostView<Held> group = rows.view().rows_between(0, std::min(widest_panel, shape[0] - first));
      fill(first, group);
      packed.template pack<Held>(first, group);
    }
    return packed;
  }
  /// Packs a copy of the rows of a matrix.
  static PackedWeight copy_of(HostView<const Storage> weight, std::int64_t columns_at_once) {
    PackedWeight packed(weight.rows(), weight.columns(), columns_at_once);
    for (std::int64_t first = 0; first < packed.features_; first += widest_panel)
      packed.template pack<Storage>(
          first, weight.rows_between(first, std::min(widest_panel, packed.features_ - first)));
    return packed;
  }
  /// Packs the columns of a matrix [columns, features]: the panels are those that copy_of makes
  /// of its transpose.
  static PackedWeight of_columns(HostView<const Storage> matrix, std::int64_t columns_at_once) {
    PackedWeight packed(matrix.columns(), matrix.rows(), columns_at_once);
    auto* const to = reinterpret_cast<Storage*>(packed.buffer_.data());
    if constexpr (std::is_same_v<Storage, bf16>)
      if (columns_at_once == 2) {
        pack_panels<2, Storage, false>(matrix, packed.padded_columns(), packed.panel_width(), to);
        return packed;
      }
    pack_panels<1, Storage, false>(matrix, packed.padded_columns(), packed.panel_width(), to);
    return packed;
  }
  /// A weight in blocks that `decoder` decodes: calls `fill(rows)`, which writes the bytes of all rows, each
  /// of which begins with a block. Throws InputError for a decoder without the functions of these operands.
  template <class Types, class Fill>
  static PackedWeight in_blocks(const BlockDecoder& decoder, const Shape& shape, Fill&& fill) {
    constexpr bool narrow = std::is_same_v<typename Types::operand, bf16>;
    if (!decoder.to_f32 || (narrow && !decoder.to_bf16))
      throw InputError("a weight in " + std::string(decoder.format.name) +
                       ": its decoder does not decode to these operands: take it from host::block_decoder, "
                       "for the policy's own row of the op table");
    PackedWeight packed(decoder, shape[0], shape[1], columns_at_once_for<Types>());
    fill(std::span<std::byte>(packed.buffer_.data(), static_cast<std::size_t>(packed.bytes())));
    return packed;
  }
  /// A weight in host memory for products with `Types`: the host packs a copy.
  template <class Types>
  static PackedWeight borrowed(const PendingView<HostView<const Storage>, HostMemory>& weight) {
    return copy_of(weight.view(), columns_at_once_for<Types>());
  }

  std::int64_t features() const { return features_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t columns_at_once() const { return columns_at_once_; }
  /// The columns of a panel, zero padding included.
  std::int64_t padded_columns() const { return rounded_up(columns_, 16 * columns_at_once_); }
  /// The features of a panel, zero padding included.
  std::int64_t panel_width() const { return std::min(widest_panel, rounded_up(features_, 16)); }
  std::int64_t panels() const { return ceil_divide(features_, widest_panel); }
  std::int64_t panel_values() const { return padded_columns() * panel_width(); }
  std::int64_t bytes() const {
    return decoder_ ? features_ * decoder_->bytes_per_row(columns_)
                    : panels() * panel_values() * value_bytes_;
  }
  /// The decoder of its rows where it is in blocks, else null.
  const BlockDecoder* decoder() const { return decoder_ ? &*decoder_ : nullptr; }
  /// Its encoded rows; only where it is in blocks.
  BlockRows rows() const { return {buffer_.data(), decoder_->bytes_per_row(columns_)}; }
  /// Whether its panels hold Storage.
  bool in_storage() const { return !decoder_ && !widen_; }
  /// A panel, where it is in_storage().
  const Storage* panel(std::int64_t index) const {
    return reinterpret_cast<const Storage*>(buffer_.data()) + index * panel_values();
  }
  /// Reads values [first, first + to.size()) of a panel in a narrower dtype as Storage.
  void widen(std::int64_t index, std::int64_t first, std::span<Storage> to) const {
    widen_(buffer_.data() + (index * panel_values() + first) * value_bytes_, to);
  }

  /// One value, for inspection; values of blocks are rounded to Storage.
  Storage at(std::int64_t feature, std::int64_t column) const {
    if (decoder_) {
      f32 value;
      decoder_->to_f32(rows().from_row(feature), 1, column, 1, &value, 1);
      return convert_value<Storage>(value);
    }
    const std::int64_t step = columns_at_once_, index = feature / widest_panel;
    const std::int64_t place =
        (column / step * panel_width() + feature % widest_panel) * step + column % step;
    if (in_storage()) return panel(index)[place];
    Storage value;
    widen(index, place, {&value, 1});
    return value;
  }

 private:
  /// Memory for a weight whose columns are multiplied `columns_at_once`: 1, or 2 for bf16 alone. `pack` fills
  /// it.
  PackedWeight(std::int64_t features, std::int64_t columns, std::int64_t columns_at_once,
               std::size_t value_bytes = sizeof(Storage))
      : features_(features),
        columns_(columns),
        columns_at_once_(columns_at_once),
        value_bytes_(static_cast<std::int64_t>(value_bytes)),
        buffer_(static_cast<std::size_t>(panels() * panel_values() * value_bytes_)) {}
  PackedWeight(const BlockDecoder& decoder, std::int64_t features, std::int64_t columns,
               std::int64_t columns_at_once)
      : features_(features),
        columns_(columns),
        columns_at_once_(columns_at_once),
        decoder_(decoder),
        buffer_(static_cast<std::size_t>(features * decoder.bytes_per_row(columns))) {}

  /// Fills the panel that starts with this feature, from its rows [features of the panel, columns].
  template <ScalarDtype Held>
  void pack(std::int64_t first_feature, HostView<const Held> rows) {
    auto* const to = reinterpret_cast<Held*>(buffer_.data()) + first_feature / widest_panel * panel_values();
    constexpr std::int64_t columns_per_task = 512;
    parallel_for(ceil_divide(padded_columns(), columns_per_task), [&](std::int64_t task) {
      const std::int64_t first = task * columns_per_task;
      const std::int64_t end = std::min(padded_columns(), first + columns_per_task);
      if (columns_at_once_ == 2)
        transpose_columns<2>(rows, first, end, panel_width(), to);
      else
        transpose_columns<1>(rows, first, end, panel_width(), to);
    });
  }

  std::int64_t features_, columns_, columns_at_once_, value_bytes_ = sizeof(Storage);
  std::optional<BlockDecoder> decoder_;
  ReadScalars<Storage> widen_ = nullptr;  ///< of panels that are narrower than Storage
  Buffer buffer_;
};

/// Columns [first, first + count) of a panel as operands, one after another: to[(column - first) *
/// panel_width() + feature].
template <class Operand, bool Saturates, OneDnnOperand Multiplied, ScalarDtype Storage>
void operand_columns(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t first,
                     std::int64_t count, Multiplied* to) {
  const std::int64_t width = weight.panel_width();
  if (!weight.in_storage()) {
    constexpr bool are_operands_wide = are_operands<Operand, Multiplied, Storage>;
    constexpr std::int64_t at_once = 1024;
    std::array<Storage, are_operands_wide ? 0 : at_once> wide;
    for (std::int64_t i = 0; i < count * width; i += at_once) {
      const auto some = static_cast<std::size_t>(std::min(at_once, count * width - i));
      const std::span<Multiplied> out(to + i, some);
      if constexpr (are_operands_wide) {
        weight.widen(panel, first * width + i, out);
      } else {
        weight.widen(panel, first * width + i, std::span(wide).first(some));
        operand_row<Operand, Saturates>(std::span<const Storage>(wide).first(some), out);
      }
    }
    return;
  }
  const Storage* const from = weight.panel(panel) + first * width;
  if (weight.columns_at_once() == 1)
    return operand_row<Operand, Saturates>(
        std::span<const Storage>(from, static_cast<std::size_t>(count * width)),
        std::span<Multiplied>(to, static_cast<std::size_t>(count * width)));
  if constexpr (std::is_same_v<Storage, bf16>) {
    for (std::int64_t k = 0; k < count; k += 2) split_pairs(from + k * width, width, to + k * width);
    if constexpr (!widens_exactly<Operand, bf16>)
      round_row<Operand, Saturates>(std::span<Multiplied>(to, static_cast<std::size_t>(count * width)));
  }
}

/// A panel as pairs of bf16 operands, where it is stored column by column; zeros up to `padded_columns`.
template <class Operand, bool Saturates, ScalarDtype Storage>
void operand_pairs(const PackedWeight<Storage>& weight, std::int64_t panel, std::int64_t padded_columns,
                   bf16* to) {
  const std::int64_t width = weight.panel_width();
  std::array<bf16, 2 * widest_panel> columns;
  for (std::int64_t k = 0; k < padded_columns; k += 2) {
    if (k < weight.padded_columns())
      operand_columns<Operand, Saturates>(weight, panel, k, 2, columns.data());
    else
      columns.fill(bf16{});
    for (std::int64_t f = 0; f < width; ++f) {
      to[(k * width) + 2 * f] = columns[static_cast<std::size_t>(f)];
      to[(k * width) + 2 * f + 1] = columns[static_cast<std::size_t>(width + f)];
    }
  }
}

}  // namespace precast::host
