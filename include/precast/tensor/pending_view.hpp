// PendingView: a view of what may still be on its way to a device, for who takes it now and reads or writes
// it later.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/shape.hpp>

namespace precast {

/// What ops write into, and what options and borrowed weights keep. A Tensor's or a BlockMatrix's own view()
/// makes the stream that is current there wait for their upload; of this it is the stream in which view() is
/// called. A view is kept as it is: whoever made it has waited. What it views must outlive it.
template <class V, class Memory = backend::Memory>
class PendingView {
 public:
  PendingView() = default;
  PendingView(const V& view, const typename Memory::Upload& upload) : view_(view), upload_(upload) {}
  template <std::convertible_to<V> Array>
  PendingView(Array&& array) {  // NOLINT(google-explicit-constructor, bugprone-forwarding-reference-overload)
    // What it cannot view (the other memory, const, ending here) meets the view's own sentence.
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
  /// For work of the current stream: it comes after the upload.
  V view() const {
    Memory::wait_for_upload(upload_);
    return view_;
  }
  /// Where it is, for who reads nothing there yet, and what to wait for.
  const V& place() const { return view_; }
  const typename Memory::Upload& upload() const { return upload_; }

 private:
  V view_{};
  [[no_unique_address]] typename Memory::Upload upload_{};
};

}  // namespace precast
