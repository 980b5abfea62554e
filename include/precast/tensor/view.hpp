// View: a non-owning view of scalars in a memory space that its type names, as rows of contiguous values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

namespace detail {

/// `Writable` is the element type of a mutable view whose read-only form has elements of type T.
template <class Writable, class T>
concept WritableFormOf = std::is_same_v<const Writable, T>;

/// `ReadOnly` is the element type of a read-only view whose mutable form has elements of type T.
template <class ReadOnly, class T>
concept ReadOnlyFormOf = !std::is_const_v<T> && std::is_same_v<ReadOnly, const T>;

/// A tensor or view of rows of T in another memory space.
template <class A, class T, class Space>
concept RowsInOtherMemory = requires(const A& array) {
  requires std::is_same_v<typename A::value_type, std::remove_const_t<T>>;
  requires !std::is_same_v<typename A::space, Space>;
  array.columns();
};

/// A tensor or view in this memory space, of a scalar dtype other than T.
template <class A, class T, class Space>
concept RowsOfAnotherDtype = requires(const A& array) {
  requires ScalarDtype<typename A::value_type>;
  requires !std::is_same_v<typename A::value_type, std::remove_const_t<T>>;
  requires std::is_same_v<typename A::space, Space>;
  array.columns();
};

/// A Tensor of T in this memory space, as a template that takes `A&&` deduces A.
template <class A, class T, class Space>
concept TensorOf = requires {
  typename std::remove_cvref_t<A>::memory_type;
  requires std::is_same_v<typename std::remove_cvref_t<A>::value_type, T>;
  requires std::is_same_v<typename std::remove_cvref_t<A>::space, Space>;
};
/// A const Tensor of T, which gives no mutable view.
template <class A, class T, class Space>
concept ConstTensorOf = std::is_const_v<std::remove_reference_t<A>> && TensorOf<A, T, Space>;
/// A temporary Tensor of T, which a mutable view would outlive.
template <class A, class T, class Space>
concept EndingTensorOf = !std::is_reference_v<A> && !std::is_const_v<A> && TensorOf<A, T, Space>;

}  // namespace detail

/// A view of scalars in a memory space: a shape whose last dimension is contiguous, and whose rows are
/// `row_stride` values apart, so that a slice of columns is a view too. Does not own; cheap to copy. A view
/// of `const T` cannot write. Only the host reads a view's values through it, and only in HostSpace.
template <class T, class MemorySpace>
  requires ScalarDtype<std::remove_const_t<T>>
class ViewIn {
  static_assert(is_memory_space<MemorySpace>, "ViewIn: the space of a view is HostSpace or DeviceSpace.");

 public:
  using value_type = std::remove_const_t<T>;
  using space = MemorySpace;

  ViewIn() = default;
  ViewIn(T* data, const Shape& shape) : ViewIn(data, shape, shape.back()) {}
  ViewIn(T* data, const Shape& shape, std::int64_t row_stride)
      : data_(data), shape_(shape), row_stride_(row_stride) {}
  /// A mutable view converts to a read-only one.
  template <detail::WritableFormOf<T> Writable>
  ViewIn(const ViewIn<Writable, space>& other)  // NOLINT(google-explicit-constructor)
      : ViewIn(other.data(), other.shape(), other.row_stride()) {}
  /// An array in another memory space is a static_assert error.
  template <detail::RowsInOtherMemory<T, space> Other>
  ViewIn(const Other&) {  // NOLINT(google-explicit-constructor)
    static_assert(
        !detail::RowsInOtherMemory<Other, T, space>,
        "Precast: this op runs in the other memory space: what it writes, and every view that it takes, "
        "is of its own backend (arrived() copies a HostTensor to a device, to_host() copies a tensor back).");
  }
  /// Rows of another dtype are a static_assert error as well.
  template <detail::RowsOfAnotherDtype<T, space> Other>
  ViewIn(const Other&) {  // NOLINT(google-explicit-constructor)
    static_assert(
        !detail::RowsOfAnotherDtype<Other, T, space>,
        "Precast: this tensor or view has another dtype than is taken here: a weight is of its class's "
        "storage under the policy (precisions<P, Op>::storage), its bias of ::vector_storage, what an op "
        "writes of its result dtype (::result), a mask and what other options hold f32, and a norm's bias of "
        "its weight's dtype. cast() converts.");
  }
  /// A mutable view of read-only values is one too.
  template <detail::ReadOnlyFormOf<T> ReadOnly>
  ViewIn(const ViewIn<ReadOnly, space>&) {  // NOLINT(google-explicit-constructor)
    static_assert(!detail::ReadOnlyFormOf<ReadOnly, T>,
                  "Precast: what an op writes is a view of values that can be written, not of const ones. "
                  "(The view() of a tensor that ends with the expression is of const ones: give the tensor a "
                  "name.)");
  }
  template <detail::ConstTensorOf<T, space> ReadOnly>
  ViewIn(ReadOnly&&) {  // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
    static_assert(!detail::ConstTensorOf<ReadOnly, T, space>,
                  "Precast: what an op writes is a tensor or view that can be written, not a const one.");
  }
  /// So is a mutable view of a temporary tensor.
  template <detail::EndingTensorOf<T, space> Ending>
  ViewIn(Ending&&) {  // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
    static_assert(
        !detail::EndingTensorOf<Ending, T, space>,
        "Precast: this tensor ends with the expression, and a view that can be written would outlive "
        "it: give the tensor a name.");
  }

  T* data() const { return data_; }
  const Shape& shape() const { return shape_; }
  std::int64_t columns() const { return shape_.back(); }
  /// The number of rows; 0 where there are no columns.
  std::int64_t rows() const { return columns() ? shape_.elements() / columns() : 0; }
  std::int64_t row_stride() const { return row_stride_; }
  std::int64_t elements() const { return shape_.elements(); }
  bool contiguous() const { return row_stride_ == columns() || rows() <= 1; }

  std::span<T> row(std::int64_t index) const {
    return {data_ + index * row_stride_, static_cast<std::size_t>(columns())};
  }
  /// All values of a contiguous view.
  std::span<T> values() const {
    if (!contiguous())
      throw ShapeError("a strided view of shape " + to_string(shape_) + " is not one run of values");
    return {data_, static_cast<std::size_t>(elements())};
  }

  /// The same values under another shape; the last dimension may only change where the view is contiguous.
  ViewIn reshaped(const Shape& shape) const {
    if (shape.elements() != elements() || (!contiguous() && shape.back() != columns()))
      throw ShapeError("cannot view " + to_string(shape_) + " as " + to_string(shape));
    return contiguous() ? ViewIn(data_, shape) : ViewIn(data_, shape, row_stride_);
  }
  /// Rows [first, first + count) as a matrix.
  ViewIn rows_between(std::int64_t first, std::int64_t count) const {
    if (first < 0 || count < 0 || count > rows() - first)
      throw ShapeError("rows " + std::to_string(first) + " + " + std::to_string(count) + " leave " +
                       to_string(shape_));
    return {data_ + first * row_stride_, Shape{count, columns()}, row_stride_};
  }
  /// Columns [first, first + count) of every row.
  ViewIn columns_between(std::int64_t first, std::int64_t count) const {
    if (first < 0 || count < 0 || count > columns() - first)
      throw ShapeError("columns " + std::to_string(first) + " + " + std::to_string(count) + " leave " +
                       to_string(shape_));
    return {data_ + first, shape_.with_back(count), row_stride_};
  }

 private:
  T* data_ = nullptr;
  Shape shape_ = {0};
  std::int64_t row_stride_ = 0;
};

/// A view of host values.
template <class T>
using HostView = ViewIn<T, HostSpace>;
/// A view of values in the memory of a CUDA device.
template <class T>
using DeviceView = ViewIn<T, DeviceSpace>;

inline namespace PRECAST_BACKEND {

/// A view of values in the memory of this translation unit's backend.
template <class T>
using View = ViewIn<T, BackendSpace>;

}  // namespace PRECAST_BACKEND

}  // namespace precast
