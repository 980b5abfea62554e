// BlockView: a non-owning matrix of blocks. StoredView: a view of a matrix as parameters are stored.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/dtype/decode_run.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// A matrix [rows, columns] of blocks: each row starts a new block, and rows are contiguous. Does not own;
/// cheap to copy. A view of `const T` cannot write.
template <class T, class MemorySpace>
  requires BlockDtype<std::remove_const_t<T>>
class BlockViewIn {
  static_assert((static_cast<void>(decodes<std::remove_const_t<T>>()),
                 true));  // its static_assert names what is missing

 public:
  using value_type = std::remove_const_t<T>;
  using space = MemorySpace;

  BlockViewIn() = default;
  BlockViewIn(T* blocks, const Shape& shape) : blocks_(blocks), shape_(shape) {
    if (shape.rank() != 2) throw ShapeError("a matrix of blocks has two dimensions, not " + to_string(shape));
  }
  /// A mutable view converts to a read-only one.
  template <detail::WritableFormOf<T> Writable>
  BlockViewIn(const BlockViewIn<Writable, MemorySpace>& other)  // NOLINT(google-explicit-constructor)
      : blocks_(other.data()), shape_(other.shape()) {}

  T* data() const { return blocks_; }
  const Shape& shape() const { return shape_; }
  std::int64_t rows() const { return shape_[0]; }
  std::int64_t columns() const { return shape_[1]; }
  std::int64_t elements() const { return shape_.elements(); }
  std::int64_t blocks_per_row() const { return blocks_for<value_type>(columns()); }
  std::int64_t bytes() const { return rows() * bytes_for<value_type>(columns()); }
  /// The first block of a row.
  T* row(std::int64_t index) const { return blocks_ + index * blocks_per_row(); }
  /// Rows [first, first + count).
  BlockViewIn rows_between(std::int64_t first, std::int64_t count) const {
    if (first < 0 || count < 0 || count > rows() - first)
      throw ShapeError("rows " + std::to_string(first) + " + " + std::to_string(count) + " leave " +
                       to_string(shape_));
    return {row(first), Shape{count, columns()}};
  }

 private:
  T* blocks_ = nullptr;
  Shape shape_ = {0, 0};
};

namespace detail {
template <class T, class Space>
struct StoredViewOf {
  using type = ViewIn<T, Space>;
};
template <class T, class Space>
  requires BlockDtype<std::remove_const_t<T>>
struct StoredViewOf<T, Space> {
  using type = BlockViewIn<T, Space>;
};
}  // namespace detail

/// A matrix as parameters are stored: a view of scalars, or of blocks.
template <class T, class Space>
using StoredViewIn = typename detail::StoredViewOf<T, Space>::type;
/// A stored matrix in host memory.
template <class T>
using HostStoredView = StoredViewIn<T, HostSpace>;
/// A stored matrix in the memory of a CUDA device.
template <class T>
using DeviceStoredView = StoredViewIn<T, DeviceSpace>;

/// A callable `fill(first_row, rows)` that writes the rows of a matrix from `first_row` on into `rows`.
template <class F, class T>
concept RowFill = std::is_invocable_v<F&, std::int64_t, HostStoredView<T>>;

/// A fill that copies the rows of another matrix.
template <class T>
auto rows_of_matrix(HostStoredView<const T> from) {
  return [from](std::int64_t first, HostStoredView<T> rows) {
    for (std::int64_t r = 0; r < rows.rows(); ++r)
      if constexpr (BlockDtype<T>)
        std::copy_n(from.row(first + r), from.blocks_per_row(), rows.row(r));
      else
        std::ranges::copy(from.row(first + r), rows.row(r).begin());
  };
}

inline namespace PRECAST_BACKEND {

/// A stored matrix in the memory of this translation unit's backend.
template <class T>
using StoredView = StoredViewIn<T, BackendSpace>;

}  // namespace PRECAST_BACKEND

}  // namespace precast
