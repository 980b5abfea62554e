// Views of memory that a program has as a pointer, sizes and strides; nothing is copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <precast/error.hpp>
#include <precast/interop/foreign_dtype.hpp>
#include <precast/tensor/heads_view.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/view.hpp>

namespace precast::interop {

/// The stride of each dimension, in values.
class Strides {
 public:
  Strides(std::initializer_list<std::int64_t> strides)
      : Strides(std::span(strides.begin(), strides.size())) {}
  explicit Strides(std::span<const std::int64_t> strides) : rank_(strides.size()) {
    if (rank_ > Shape::max_rank) throw ShapeError("a tensor has at most 6 dimensions");
    for (std::size_t i = 0; i < rank_; ++i) strides_[i] = strides[i];
  }
  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t i) const { return strides_[i]; }

 private:
  std::array<std::int64_t, Shape::max_rank> strides_{};
  std::size_t rank_;
};

inline std::string to_string(const Strides& strides) {
  std::string text = "[";
  for (std::size_t i = 0; i < strides.rank(); ++i) text += (i ? ", " : "") + std::to_string(strides[i]);
  return text + "]";
}

namespace detail {

/// Throws InputError where the pointer is null and there are values, and where it is not a multiple of
/// the alignment of T.
template <class T>
void check_pointer(std::string_view what, const T* data, const Shape& shape) {
  if (shape.elements() > 0 && !data)
    throw InputError(std::string(what) + ": values of shape " + to_string(shape) +
                     " have no memory: their pointer is null");
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
    throw InputError(std::string(what) + ": values of shape " + to_string(shape) +
                     " are not aligned to their size of " + std::to_string(sizeof(T)) + " bytes");
}
/// The same pointer, to values of Precast's dtype.
template <ForeignScalar T>
dtype_of_foreign<T>* checked_values(std::string_view what, T* data, const Shape& shape) {
  check_pointer(what, data, shape);
  return as_dtype(data);
}

/// Throws ShapeError unless there is a stride for each dimension, those that are used are neither below 0
/// nor beyond all memory, and the last dimension is contiguous.
inline void check_strides(const Shape& shape, const Strides& strides) {
  const auto refuse = [&](const char* why) {
    throw ShapeError("interop: strides " + to_string(strides) + " of " + to_string(shape) + " " + why);
  };
  if (strides.rank() != shape.rank()) refuse("are not one for each dimension: give as many strides as sizes");
  if (shape.elements() == 0) return;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] > 1 && strides[i] < 0) refuse("go backwards: copy the values in their order");
    if (shape[i] > 1 && strides[i] > Shape::max_elements / shape[i]) refuse("reach beyond the address space");
  }
  if (shape.rank() > 0 && shape.back() > 1 && strides[shape.rank() - 1] != 1)
    refuse("leave gaps between the values of the last dimension: copy them to a contiguous tensor");
}

/// The one stride between rows. Throws ShapeError where there is more than one.
inline std::int64_t row_stride_of(const Shape& shape, const Strides& strides) {
  std::int64_t row_stride = 0, next = 0;  // of a row, and of the dimension outside those seen
  bool stepped = false;
  for (std::size_t i = shape.rank() < 2 ? 0 : shape.rank() - 1; i-- > 0;) {
    if (shape[i] == 1) continue;
    if (!stepped) {
      row_stride = strides[i];
      stepped = true;
    } else if (strides[i] != next) {
      throw ShapeError("interop: strides " + to_string(strides) + " of " + to_string(shape) +
                       " are not those of evenly spaced rows: a View has evenly spaced rows, and a HeadsView "
                       "any: copy the values, or view heads (heads_at, heads_of)");
    }
    next = strides[i] * shape[i];
  }
  return stepped ? row_stride : shape.back();
}

}  // namespace detail

/// A view of a program's own memory in a memory space: `view_at<DeviceSpace>(pointer, {2, 77, 768})`. The
/// caller keeps it alive. Throws InputError for a null pointer to values, and for one that is not aligned to
/// their size.
template <class Space, ForeignScalar T>
ViewIn<dtype_of_foreign<T>, Space> view_at(T* data, const Shape& shape) {
  return {detail::checked_values("view_at", data, shape), shape};
}
/// The same with strides. Throws ShapeError too unless all rows are one stride apart, each without gaps.
template <class Space, ForeignScalar T>
ViewIn<dtype_of_foreign<T>, Space> view_at(T* data, const Shape& shape, const Strides& strides) {
  detail::check_strides(shape, strides);
  return {detail::checked_values("view_at", data, shape), shape,
          shape.elements() == 0 ? shape.back() : detail::row_stride_of(shape, strides)};
}

/// Heads of attention in a program's own memory: `shape` is [B, S, H, D], whatever their order in memory.
/// Throws as view_at does, and where a row of a head has gaps.
template <class Space, ForeignScalar T>
HeadsViewIn<dtype_of_foreign<T>, Space> heads_at(T* data, const Shape& shape, const Strides& strides) {
  detail::check_strides(shape, strides);
  const auto forwards = [&](std::size_t i) { return std::max(strides[i], std::int64_t{0}); };
  return {detail::checked_values("heads_at", data, shape), shape, {forwards(0), forwards(1), forwards(2)}};
}
/// The same for [B, S, H, D] without gaps.
template <class Space, ForeignScalar T>
HeadsViewIn<dtype_of_foreign<T>, Space> heads_at(T* data, const Shape& shape) {
  return rows_of_heads(view_at<Space>(data, shape));
}

}  // namespace precast::interop
