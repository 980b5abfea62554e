// on_device: arrays of the host as a kernel in the emulator is given them. There a kernel reads any memory,
// and tests of kernels look at theirs between launches; programs bring theirs to the device.
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
