// Whether the rows of a view can be read and written 16 bytes at a time, and its pointer for kernels.
#pragma once

#include <cstdint>

#include <precast/cuda/device/memory.hpp>
#include <precast/tensor/view.hpp>

namespace precast::cuda {

/// A view's values for a kernel: bounds are those of the rows, gaps between them included.
template <class T>
GlobalPointer<T> global_pointer(const View<T>& view) {
  const std::int64_t values =
      view.rows() ? (view.rows() - 1) * view.row_stride() + view.columns() : std::int64_t{0};
  return global_pointer(view.data(), values);
}

/// Whether every row begins on a multiple of 16 bytes.
template <class T>
bool has_wide_rows(const View<T>& view) {
  const auto stride_bytes = static_cast<std::uint64_t>(view.row_stride()) * sizeof(T);
  return reinterpret_cast<std::uintptr_t>(view.data()) % 16 == 0 &&
         (stride_bytes % 16 == 0 || view.rows() <= 1);
}

}  // namespace precast::cuda
