// Tensor: an owning, contiguous array of scalars. Moves, never copies behind your back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/memory.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// An owning tensor of scalars in row-major order, aligned to 64 bytes, uninitialised when made. Move only: a
/// copy is written `clone()`.
template <ScalarDtype T>
class Tensor {
 public:
  using value_type = T;

  Tensor() = default;
  explicit Tensor(const Shape& shape)
      : buffer_(static_cast<std::size_t>(bytes_for<T>(shape.elements()))), shape_(shape) {}
  /// A tensor that holds these values. Throws ShapeError where their number is not the shape's.
  Tensor(const Shape& shape, std::span<const T> values) : Tensor(shape) {
    if (static_cast<std::int64_t>(values.size()) != shape.elements())
      throw ShapeError(std::to_string(values.size()) + " values do not fill " + to_string(shape));
    std::copy(values.begin(), values.end(), data());
  }

  T* data() { return reinterpret_cast<T*>(buffer_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::int64_t columns() const { return shape_.back(); }
  std::int64_t rows() const { return view().rows(); }
  std::span<T> values() { return {data(), static_cast<std::size_t>(elements())}; }
  std::span<const T> values() const { return {data(), static_cast<std::size_t>(elements())}; }

  View<T> view() { return {data(), shape_}; }
  View<const T> view() const { return {data(), shape_}; }
  operator View<T>() { return view(); }              // NOLINT(google-explicit-constructor)
  operator View<const T>() const { return view(); }  // NOLINT(google-explicit-constructor)

  Tensor clone() const { return Tensor(shape_, values()); }
  /// The same memory under another shape. Throws ShapeError where the number of elements differs.
  Tensor reshaped(const Shape& shape) && {
    if (shape.elements() != elements())
      throw ShapeError("cannot reshape " + to_string(shape_) + " to " + to_string(shape));
    shape_ = shape;
    return std::move(*this);
  }

 private:
  Buffer buffer_;
  Shape shape_ = {0};
};

}  // namespace precast
