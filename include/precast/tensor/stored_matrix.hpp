// StoredMatrix: owns a matrix as parameters are stored, of scalars or of blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <precast/memory/memory.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

/// An owning matrix [rows, columns] of blocks, uninitialised when made. Move only. It is allocated in the
/// memory of the backend that the translation unit is compiled for, unless another Memory is named.
template <BlockDtype T, class Memory = backend::Memory>
class BlockMatrix {
 public:
  using value_type = T;
  using memory_type = Memory;
  using space = typename Memory::space;

  BlockMatrix() = default;
  BlockMatrix(BlockMatrix&& other) noexcept
      : shape_(std::exchange(other.shape_, Shape{0, 0})), buffer_(std::move(other.buffer_)) {}
  BlockMatrix& operator=(BlockMatrix&& other) noexcept {
    shape_ = std::exchange(other.shape_, Shape{0, 0});
    buffer_ = std::move(other.buffer_);
    return *this;
  }
  ~BlockMatrix() = default;
  explicit BlockMatrix(const Shape& shape)
      : shape_(shape), buffer_(static_cast<std::size_t>(view_of(nullptr).bytes())) {}
  /// A matrix with a copy of these host blocks.
  explicit BlockMatrix(HostStoredView<const T> from) : BlockMatrix(from.shape()) { upload(0, from); }

  /// Copies host rows into the rows from `first` on, as Tensor::upload does. Throws ShapeError where they
  /// do not fit.
  void upload(std::int64_t first, HostStoredView<const T> rows) {
    if (first < 0 || rows.columns() != columns() || rows.rows() > this->rows() - first)
      throw ShapeError("upload: " + to_string(rows.shape()) + " does not fit into " + to_string(shape_) +
                       " from row " + std::to_string(first) + " on");
    const auto* const to = reinterpret_cast<const std::byte*>(view().row(first));
    buffer_.upload(static_cast<std::size_t>(to - buffer_.data()), rows.data(),
                   static_cast<std::size_t>(rows.bytes()));
  }

  T* data() { return reinterpret_cast<T*>(buffer_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }
  const Shape& shape() const { return shape_; }
  std::int64_t rows() const { return shape_[0]; }
  std::int64_t columns() const { return shape_[1]; }
  std::int64_t elements() const { return shape_.elements(); }
  std::int64_t bytes() const { return view().bytes(); }

  // A temporary matrix gives read-only views.
  BlockViewIn<T, space> view() & PRECAST_LIFETIMEBOUND { return {data(), shape_}; }
  BlockViewIn<const T, space> view() const& PRECAST_LIFETIMEBOUND { return {data(), shape_}; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator BlockViewIn<T, space>() & PRECAST_LIFETIMEBOUND { return view(); }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator BlockViewIn<const T, space>() const& PRECAST_LIFETIMEBOUND { return view(); }
  /// The same view, which waits for the upload in the context that uses it.
  PendingView<BlockViewIn<const T, space>, Memory> pending() const {
    return {view_of(reinterpret_cast<const T*>(buffer_.address())), buffer_.upload()};
  }

 private:
  BlockViewIn<const T, space> view_of(const T* data) const { return {data, shape_}; }

  Shape shape_ = {0, 0};
  BufferIn<Memory> buffer_;
};

namespace detail {
template <class T, class Memory>
struct StoredMatrixOf {
  using type = Tensor<T, Memory>;
};
template <BlockDtype T, class Memory>
struct StoredMatrixOf<T, Memory> {
  using type = BlockMatrix<T, Memory>;
};
}  // namespace detail

/// A matrix that owns its values, stored as T: a Tensor of scalars, or a BlockMatrix.
template <Dtype T, class Memory = backend::Memory>
using StoredMatrix = typename detail::StoredMatrixOf<T, Memory>::type;
/// A stored matrix that the host can read, whatever the backend.
template <Dtype T>
using HostStoredMatrix = StoredMatrix<T, HostMemory>;

inline namespace PRECAST_BACKEND {

/// An op's stored operand as a view of scalars or of blocks, in its backend's memory.
template <ScalarArray A>
auto as_stored_view(const A& array) {
  return as_view(array);
}
template <class T, class Space>
BlockViewIn<const std::remove_const_t<T>, BackendSpace> as_stored_view(const BlockViewIn<T, Space>& view) {
  static_assert(
      std::is_same_v<Space, BackendSpace>,
      "Precast: this op runs in the other memory space: give it matrices or views of its own backend.");
  return view;
}
template <BlockDtype T, class Memory>
BlockViewIn<const T, BackendSpace> as_stored_view(const BlockMatrix<T, Memory>& matrix) {
  return as_stored_view(matrix.view());
}

/// A host matrix of blocks in the memory that ops read: the same matrix on the host backend, else a copy.
template <BlockDtype T>
BlockMatrix<T> arrived(BlockMatrix<T, HostMemory> matrix) {
  if constexpr (backend::Memory::on_host)
    return matrix;
  else
    return BlockMatrix<T>(HostStoredView<const T>(matrix));
}

}  // namespace PRECAST_BACKEND

/// What ops take as a stored matrix: a ScalarArray, a BlockMatrix or a view of one.
template <class A>
concept StoredArray = requires(const A& array) {
  as_stored_view(array);
};

}  // namespace precast
