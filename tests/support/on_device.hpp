// on_device: passes host arrays to kernels in the emulator, where a kernel reads any memory, so that tests
// can look at their arrays between launches; programs copy theirs to the device.
#pragma once

#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::testing {

template <class T>
DeviceView<T> on_device(const HostView<T>& view) {
  return {view.data(), view.shape(), view.row_stride()};
}
template <class T>
DeviceView<T> on_device(HostTensor<T>& tensor) {
  return on_device(tensor.view());
}
template <class T>
DeviceView<const T> on_device(const HostTensor<T>& tensor) {
  return on_device(tensor.view());
}

}  // namespace precast::testing
