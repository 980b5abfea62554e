// The class Tensor: an owning, contiguous array of scalars. Move only; copying its values needs
// tensor/tensor.hpp. Also PendingView, a view that waits for an upload only when it is used, and as_view,
// which lets an op take a tensor or a view of any scalar dtype under one name.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <precast/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/view.hpp>

// The memory that this translation unit's ops work in.
#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/device_memory.hpp>
#else
#include <precast/memory/memory.hpp>
#endif

// clang++ warns of a view that outlives what owns its values.
#if __has_cpp_attribute(clang::lifetimebound)
#define PRECAST_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define PRECAST_LIFETIMEBOUND
#endif

namespace precast {

/// A view for later use: the type of ops' outputs, and of views in options and borrowed weights. Its view()
/// makes the stream that is current then wait for the upload; view() of a Tensor or BlockMatrix has the
/// current stream wait at once. A plain view is stored as it is: its maker has waited. Does not own.
template <class V, class Memory = backend::Memory>
class PendingView {
 public:
  PendingView() = default;
  PendingView(const V& view, const typename Memory::Upload& upload) : view_(view), upload_(upload) {}
  template <std::convertible_to<V> Array>
  PendingView(Array&& array) {  // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
    // An argument that V cannot view (other memory, const, temporary) gets V's own static_assert.
    if constexpr (requires {
                    requires std::same_as<typename std::remove_cvref_t<Array>::memory_type, Memory>;
                    requires std::convertible_to<
                        decltype(std::forward<Array>(array).pending().place().data()),
                        decltype(view_.data())>;
                  }) {
      const auto pending = std::forward<Array>(array).pending();
      *this = {pending.place(), pending.upload()};
    } else {
      view_ = std::forward<Array>(array);
    }
  }

  const Shape& shape() const { return view_.shape(); }
  /// The view, for work on the current stream, which waits for the upload first.
  V view() const {
    Memory::wait_for_upload(upload_);
    return view_;
  }
  /// The view without that wait, for callers that do not access values yet; and the upload to wait for.
  const V& place() const { return view_; }
  const typename Memory::Upload& upload() const { return upload_; }

 private:
  V view_{};
  [[no_unique_address]] typename Memory::Upload upload_{};
};

/// An owning tensor of scalars in row-major order, aligned to 64 bytes, uninitialised when made. Move only:
/// `clone()` copies, and a moved-from tensor has no elements. It is allocated in the memory of the backend
/// that the translation unit is compiled for, unless another Memory is named.
template <ScalarDtype T, class Memory = backend::Memory>
class Tensor {
 public:
  using value_type = T;
  using memory_type = Memory;
  using space = typename Memory::space;

  Tensor() = default;
  Tensor(Tensor&& other) noexcept
      : buffer_(std::move(other.buffer_)), shape_(std::exchange(other.shape_, Shape{0})) {}
  Tensor& operator=(Tensor&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    shape_ = std::exchange(other.shape_, Shape{0});
    return *this;
  }
  ~Tensor() = default;
  explicit Tensor(const Shape& shape)
      : buffer_(static_cast<std::size_t>(bytes_for<T>(shape.elements()))), shape_(shape) {}
  /// A tensor with a copy of these host values. Throws ShapeError unless there is one for each element.
  Tensor(const Shape& shape, std::span<const T> values) : Tensor(shape) {
    if (static_cast<std::int64_t>(values.size()) != shape.elements())
      throw ShapeError(std::to_string(values.size()) + " values do not fill " + to_string(shape));
    upload(0, values);
  }

  /// Copies host values into the elements from `first` on; `values` may be reused on return. Ops wait for
  /// the copy, whichever stream they run on. Throws ShapeError where there are too many.
  void upload(std::int64_t first, std::span<const T> values) {
    if (first < 0 || static_cast<std::int64_t>(values.size()) > elements() - first)
      throw ShapeError(std::to_string(values.size()) + " values from " + std::to_string(first) +
                       " on leave " + to_string(shape_));
    buffer_.upload(static_cast<std::size_t>(first) * sizeof(T), values.data(), values.size_bytes());
  }

  /// Copies all values to `to` on the host, and waits for the copy.
  void download(T* to) const { buffer_.download(to, static_cast<std::size_t>(bytes_for<T>(elements()))); }

  /// Records that the work queued on the current stream so far writes values for other streams: ops wait
  /// for it, whichever stream they run on.
  void note_written() { buffer_.note_written(); }

  T* data() { return reinterpret_cast<T*>(buffer_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(buffer_.data()); }
  /// The number of the device that it was made on; 0 on the host.
  int device() const { return buffer_.device(); }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return shape_.elements(); }
  std::int64_t columns() const { return shape_.back(); }
  std::int64_t rows() const { return view().rows(); }
  /// The values, where the host can reach them.
  std::span<T> values() & PRECAST_LIFETIMEBOUND requires Memory::on_host {
    return {data(), static_cast<std::size_t>(elements())};
  }
  std::span<const T> values() const& PRECAST_LIFETIMEBOUND requires Memory::on_host {
    return {data(), static_cast<std::size_t>(elements())};
  }

  // A temporary tensor gives read-only views.
  ViewIn<T, space> view() & PRECAST_LIFETIMEBOUND { return {data(), shape_}; }
  ViewIn<const T, space> view() const& PRECAST_LIFETIMEBOUND { return {data(), shape_}; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator ViewIn<T, space>() & PRECAST_LIFETIMEBOUND { return view(); }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator ViewIn<const T, space>() const& PRECAST_LIFETIMEBOUND { return view(); }

  /// The same views, which wait for the upload in the context that uses them.
  PendingView<ViewIn<T, space>, Memory> pending() & {
    return {{reinterpret_cast<T*>(buffer_.address()), shape_}, buffer_.upload()};
  }
  PendingView<ViewIn<const T, space>, Memory> pending() const& {
    return {{reinterpret_cast<const T*>(buffer_.address()), shape_}, buffer_.upload()};
  }

  Tensor clone() const {
    Tensor copy(shape_);
    Memory::copy(copy.data(), data(), static_cast<std::size_t>(bytes_for<T>(elements())));
    return copy;
  }
  /// The same memory under another shape. Throws ShapeError where the number of elements differs.
  Tensor reshaped(const Shape& shape) && {
    if (shape.elements() != elements())
      throw ShapeError("cannot reshape " + to_string(shape_) + " to " + to_string(shape));
    shape_ = shape;
    return std::move(*this);
  }

 private:
  BufferIn<Memory> buffer_;
  Shape shape_ = {0};
};

/// A tensor that the host can read, whatever the backend.
template <ScalarDtype T>
using HostTensor = Tensor<T, HostMemory>;

inline namespace PRECAST_BACKEND {

/// An op's input as a view; a view in a memory space other than the backend's is a static_assert error.
template <class T, class Space>
View<const std::remove_const_t<T>> as_view(const ViewIn<T, Space>& view) {
  static_assert(
      std::is_same_v<Space, BackendSpace>,
      "Precast: this op runs in the other memory space: give it tensors or views of its own backend "
      "(arrived() copies a HostTensor to a device, to_host() copies a tensor back).");
  if constexpr (std::is_same_v<Space, BackendSpace>)
    return view;
  else
    return {};
}
template <class T, class Memory>
View<const T> as_view(const Tensor<T, Memory>& tensor) {
  return as_view(tensor.view());
}

}  // namespace PRECAST_BACKEND

/// A Tensor or a View of scalars: what ops take as input.
template <class A>
concept ScalarArray = requires(const A& array) {
  as_view(array);
};

/// The dtype of a ScalarArray's values.
template <ScalarArray A>
using value_type_of = typename A::value_type;

/// A ScalarArray of values of T.
template <class A, class T>
concept ArrayOf = ScalarArray<A> && std::is_same_v<value_type_of<A>, T>;

}  // namespace precast
