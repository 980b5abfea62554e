// Arrived: host values in the memory that this backend's ops read.
#pragma once

#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Contiguous host values that ops can read: a view of the values themselves where ops run on the host
/// (they must outlive this object), else a copy on the device.
template <ScalarDtype T>
class Arrived {
 public:
  explicit Arrived(HostView<const T> from) {
    if constexpr (backend::Memory::on_host) {
      view_ = from;
    } else {
      copy_ = Tensor<T>(from.shape(), from.values());
      view_ = copy_.view();
    }
  }
  Arrived(const Arrived&) = delete;
  Arrived& operator=(const Arrived&) = delete;

  View<const T> view() const { return view_; }

 private:
  Tensor<T> copy_;
  View<const T> view_;
};

/// A host tensor in the memory that ops read: the same tensor on the host backend, else a device copy.
template <ScalarDtype T>
Tensor<T> arrived(HostTensor<T> tensor) {
  if constexpr (backend::Memory::on_host)
    return tensor;
  else
    return Tensor<T>(tensor.shape(), tensor.values());
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
