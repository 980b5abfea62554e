// Tiles of shared memory that the TMA fills and wgmma reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/device/smem_descriptor.hpp>
#include <precast/cuda/device/tensor_map.hpp>

namespace precast::gpu::detail {

/// A map of heads, and the order of its dimensions: width, heads, rows and samples, or rows before heads.
struct HeadsMap {
  TensorMap map;
  bool rows_inside;
};

/// Rows x Columns values of 16 bits in shared memory, in panels of 64 columns: rows of 128 bytes, swizzled.
/// Starts at a byte of dynamic shared memory that is a multiple of 1024.
template <class Element, int Rows, int Columns>
struct PanelTile {
  static constexpr int panel_columns = 64, panels = Columns / panel_columns, row_bytes = 128;
  static constexpr int panel_bytes = Rows * row_bytes, bytes = panels * panel_bytes, rows_of_pattern = 8;
  static_assert(Columns % panel_columns == 0 && Rows % rows_of_pattern == 0, "PanelTile: whole panels.");

  std::size_t start;

  /// Starts to load rows of a head; `barrier` counts `bytes` bytes as they land.
  PRECAST_DEVICE void fetch(const HeadsMap& from, int row, int head, int batch,
                            SharedPointer<Mbarrier> barrier) const {
    PRECAST_UNROLL
    for (int panel = 0; panel < panels; ++panel)
      tma_load(dynamic_shared<Element>(start + static_cast<std::size_t>(panel * panel_bytes),
                                       Rows * panel_columns),
               from.map,
               {planted<"panel of a head">(panel, 0) * panel_columns, from.rows_inside ? row : head,
                from.rows_inside ? head : row, batch},
               barrier);
  }

  /// The descriptor of the rows from first_row on, with 16 of their columns as depth.
  PRECAST_DEVICE SmemDescriptor rows(int first_row, int step) const {
    constexpr int steps_of_panel = panel_columns / 16;
    return at(first_row * row_bytes + step / steps_of_panel * panel_bytes + step % steps_of_panel * 32, 0);
  }
  /// The descriptor of all columns, with 16 of their rows as depth.
  PRECAST_DEVICE SmemDescriptor columns(int step) const { return at(step * 16 * row_bytes, panel_bytes); }

 private:
  PRECAST_DEVICE SmemDescriptor at(int byte, int leading_bytes) const {
    const auto first = shared_address(dynamic_shared<Element>(start, Rows * Columns));
    return smem_descriptor(first + static_cast<std::uint32_t>(byte), Swizzle::of_128_bytes, leading_bytes,
                           rows_of_pattern * row_bytes);
  }
};

/// The strides of a map of heads, each of which must be a multiple of the one before: rows within heads, or
/// heads within rows, the smaller stride first.
struct MapStrides {
  std::int64_t inner, outer, batch;
  bool rows_inside;

  template <class T>
  MapStrides(const Heads<T>& heads, int number_of_heads, int samples) {
    // The stride of a dimension of size 1 is never used.
    const std::int64_t head = number_of_heads > 1 ? heads.head_stride : heads.stride;
    rows_inside = head > heads.stride;
    inner = rows_inside ? heads.stride : head;
    outer = rows_inside ? head : heads.stride;
    batch = samples > 1 ? heads.batch_stride : outer;
  }
  bool are_multiples() const { return inner > 0 && outer % inner == 0 && batch > 0 && batch % outer == 0; }
};

/// Whether a map can be made of heads.
template <class T>
bool can_be_mapped(const Heads<T>& heads, int number_of_heads, int batch) {
  return heads.aligned && heads.sequence > 0 && heads.width > 0 &&
         MapStrides(heads, number_of_heads, batch).are_multiples();
}

/// The map of all heads, from which tiles of Rows rows are loaded.
template <int Rows, class T>
HeadsMap map_of(const Heads<const T>& heads, int number_of_heads, int batch) {
  const MapStrides strides(heads, number_of_heads, batch);
  BoxedTensor of{{heads.width, number_of_heads, heads.sequence, batch},
                 {strides.inner, strides.outer, strides.batch},
                 {64, 1, Rows, 1},
                 Swizzle::of_128_bytes};
  if (strides.rows_inside) {
    std::swap(of.sizes[1], of.sizes[2]);
    std::swap(of.box[1], of.box[2]);
  }
  return {make_tensor_map<T>(heads.data, of), strides.rows_inside};
}

}  // namespace precast::gpu::detail
