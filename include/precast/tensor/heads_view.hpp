// HeadsView: a strided view of the heads that attention reads or writes, with the dimensions batch, rows,
// heads and width.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// The distances, in values, between neighbouring batch entries, rows of a head, and heads.
struct HeadsStrides {
  std::int64_t batch = 0, row = 0, head = 0;
};

/// A view of scalars [batch, rows, heads, width] in a memory space. Each dimension but the last has a
/// stride of its own, so that [B, S, H * D], [B, S, H, D], [B, H, S, D] and slices of them are one type;
/// the last dimension is contiguous. Does not own; cheap to copy. A view of `const T` cannot write.
template <class T, class MemorySpace>
  requires ScalarDtype<std::remove_const_t<T>>
class HeadsViewIn {
  static_assert(is_memory_space<MemorySpace>,
                "HeadsViewIn: the space of a view is HostSpace or DeviceSpace.");

 public:
  using value_type = std::remove_const_t<T>;
  using space = MemorySpace;

  HeadsViewIn() = default;
  /// `shape` is [batch, rows, heads, width] whatever the order in memory. Throws ShapeError for another
  /// rank and for a negative stride of a dimension whose size is not 1. The stride of a dimension of size
  /// 1 is ignored (DLPack writes 1 there) and replaced by that of contiguous rows.
  HeadsViewIn(T* data, const Shape& shape, const HeadsStrides& strides)
      : data_(data), shape_(shape), strides_(strides) {
    if (shape.rank() != 4) throw ShapeError("heads: " + to_string(shape) + " is not [B, S, H, D]");
    if (shape[2] == 1) strides_.head = shape[3];
    if (shape[1] == 1) strides_.row = shape[0] > 1 ? strides.batch : shape[2] * strides_.head;
    if (shape[0] == 1) strides_.batch = shape[1] * strides_.row;
    if (strides_.batch < 0 || strides_.row < 0 || strides_.head < 0)
      throw ShapeError("heads: a stride of " + to_string(shape) + " is below 0");
  }
  /// A mutable view converts to a read-only one.
  template <detail::WritableFormOf<T> Writable>
  HeadsViewIn(const HeadsViewIn<Writable, space>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data()), shape_(other.shape()), strides_(other.strides()) {}
  /// Heads in another memory space are a static_assert error.
  template <class U, class Elsewhere>
    requires(!std::is_same_v<Elsewhere, space> && std::is_same_v<std::remove_const_t<U>, value_type>)
  HeadsViewIn(const HeadsViewIn<U, Elsewhere>&) {  // NOLINT(google-explicit-constructor)
    static_assert(
        std::is_same_v<Elsewhere, space>,
        "Precast: attention runs in the other memory space: the heads that it writes are its own backend's.");
  }
  /// Heads of another dtype are a static_assert error as well.
  template <class U>
    requires(!std::is_same_v<std::remove_const_t<U>, value_type>)
  HeadsViewIn(const HeadsViewIn<U, space>&) {  // NOLINT(google-explicit-constructor)
    static_assert(
        std::is_same_v<std::remove_const_t<U>, value_type>,
        "Precast: these heads have another dtype than is taken here: attention writes the result dtype "
        "of its class under the policy (precisions<P, Attention>::result).");
  }

  T* data() const { return data_; }
  /// [batch, rows, heads, width].
  const Shape& shape() const { return shape_; }
  const HeadsStrides& strides() const { return strides_; }
  std::int64_t batch() const { return shape_[0]; }
  std::int64_t rows() const { return shape_[1]; }
  std::int64_t heads() const { return shape_[2]; }
  std::int64_t width() const { return shape_[3]; }
  std::int64_t elements() const { return shape_.elements(); }

  /// The values of one row of one head.
  std::span<T> row(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return {data_ + batch * strides_.batch + head * strides_.head + row * strides_.row,
            static_cast<std::size_t>(width())};
  }
  /// The number of values that the view spans in memory, gaps included.
  std::int64_t spanned() const {
    if (elements() == 0) return 0;
    return (batch() - 1) * strides_.batch + (rows() - 1) * strides_.row + (heads() - 1) * strides_.head +
           width();
  }
  /// The same values as rows [batch, rows, heads * width]; nothing where the strides do not allow it.
  std::optional<ViewIn<T, space>> joined() const {
    const bool side_by_side = heads() == 1 || strides_.head == width();
    const bool in_a_row = batch() <= 1 || strides_.batch == rows() * strides_.row;
    if (!side_by_side || !in_a_row) return std::nullopt;
    return ViewIn<T, space>(data_, Shape{batch(), rows(), heads() * width()}, strides_.row);
  }

 private:
  T* data_ = nullptr;
  Shape shape_ = {0, 0, 0, 0};
  HeadsStrides strides_;
};

/// Views [B, S, H * D] as H heads. Throws ShapeError unless the rank is 3 and H >= 1 divides the last size.
template <class T, class Space>
HeadsViewIn<T, Space> split_heads(const ViewIn<T, Space>& view, std::int64_t heads) {
  const Shape& shape = view.shape();
  if (shape.rank() != 3)
    throw ShapeError("heads: " + to_string(shape) +
                     " is not [B, S, H * D]: attention takes rows of three sizes, or a HeadsView of four");
  if (heads < 1 || shape[2] % heads != 0)
    throw ShapeError(
        "heads: " + std::to_string(heads) + " heads do not divide " + to_string(shape) +
        ": name in attention's options the heads of rows, or heads_kv of keys and values, that divide the "
        "last size");
  const std::int64_t width = shape[2] / heads;
  return {view.data(),
          Shape{shape[0], shape[1], heads, width},
          {shape[1] * view.row_stride(), view.row_stride(), width}};
}
/// The heads of [B, S, H, D]: a row holds all of its heads. Throws ShapeError for another rank.
template <class T, class Space>
HeadsViewIn<T, Space> rows_of_heads(const ViewIn<T, Space>& view) {
  const Shape& s = view.shape();
  if (s.rank() != 4) throw ShapeError("heads: " + to_string(s) + " is not [B, S, H, D]");
  const std::int64_t stride = view.row_stride();
  return {view.data(), s, {s[1] * s[2] * stride, s[2] * stride, stride}};
}
/// The heads of [B, H, S, D]: a head holds all of its rows. Throws ShapeError for another rank.
template <class T, class Space>
HeadsViewIn<T, Space> heads_of_rows(const ViewIn<T, Space>& view) {
  const Shape& s = view.shape();
  if (s.rank() != 4) throw ShapeError("heads: " + to_string(s) + " is not [B, H, S, D]");
  const std::int64_t stride = view.row_stride();
  return {view.data(), Shape{s[0], s[2], s[1], s[3]}, {s[1] * s[2] * stride, stride, s[2] * stride}};
}

/// Heads in the host's memory.
template <class T>
using HostHeadsView = HeadsViewIn<T, HostSpace>;
/// Heads in the memory of a CUDA device.
template <class T>
using DeviceHeadsView = HeadsViewIn<T, DeviceSpace>;

inline namespace PRECAST_BACKEND {

/// Heads in the memory of this translation unit's backend.
template <class T>
using HeadsView = HeadsViewIn<T, BackendSpace>;

}  // namespace PRECAST_BACKEND

}  // namespace precast
