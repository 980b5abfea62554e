// Tiles that the copy engine brings and that products of warpgroups read where they lie.
#pragma once

#include <cstddef>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/device/shared_matrix.hpp>
#include <precast/cuda/device/tensor_map.hpp>

namespace precast::cuda::detail {

/// Rows x Columns values of 16 bits in shared memory, in panels of 64 columns: rows of 128 bytes, swizzled.
/// Starts at a byte of dynamic shared memory that is a multiple of 1024.
template <class Element, int Rows, int Columns>
struct PanelTile {
  static constexpr int panel_columns = 64, panels = Columns / panel_columns, row_bytes = 128;
  static constexpr int panel_bytes = Rows * row_bytes, bytes = panels * panel_bytes, rows_of_pattern = 8;
  static_assert(Columns % panel_columns == 0 && Rows % rows_of_pattern == 0, "PanelTile: whole panels.");

  std::size_t start;

  /// Starts to bring rows of a head; `barrier` is told of `bytes` bytes.
  PRECAST_DEVICE void fetch(const TensorMap& from, int row, int head, int batch,
                            SharedPointer<Mbarrier> barrier) const {
    PRECAST_UNROLL for (int panel = 0; panel < panels; ++panel) copy_box(
        dynamic_shared<Element>(start + static_cast<std::size_t>(panel * panel_bytes), Rows * panel_columns),
        from, {planted<"panel of a head">(panel, 0) * panel_columns, head, row, batch}, barrier);
  }

  /// Rows from first_row on, and 16 columns of them as depth.
  PRECAST_DEVICE SharedMatrix rows(int first_row, int step) const {
    constexpr int steps_of_panel = panel_columns / 16;
    return at(first_row * row_bytes + step / steps_of_panel * panel_bytes + step % steps_of_panel * 32, 0);
  }
  /// All columns, and 16 rows of them as depth.
  PRECAST_DEVICE SharedMatrix columns(int step) const { return at(step * 16 * row_bytes, panel_bytes); }

 private:
  PRECAST_DEVICE SharedMatrix at(int byte, int leading_bytes) const {
    const auto first = shared_address(dynamic_shared<Element>(start, Rows * Columns));
    return shared_matrix(first + static_cast<std::uint32_t>(byte), Swizzle::of_128_bytes, leading_bytes,
                         rows_of_pattern * row_bytes);
  }
};

/// Whether a map can be made of heads: each stride of a tensor is to be a multiple of the one before, and
/// heads lie closer than rows do.
template <class T>
bool can_be_mapped(const Heads<T>& heads, int number_of_heads) {
  return heads.aligned && (number_of_heads == 1 || heads.stride % heads.width == 0);
}

/// The map of all heads, from which tiles of Rows rows are brought.
template <int Rows, class T>
TensorMap map_of(const Heads<const T>& heads, int number_of_heads, int batch) {
  const std::int64_t width = heads.width, head = number_of_heads == 1 ? heads.stride : width;
  return make_tensor_map<T>(heads.data, {{width, number_of_heads, heads.sequence, batch},
                                         {head, heads.stride, heads.sequence * heads.stride},
                                         {64, 1, Rows, 1},
                                         Swizzle::of_128_bytes});
}

}  // namespace precast::cuda::detail
