// Tensor: an owning, contiguous array of scalars, and its way from and to the host.
#pragma once

#include <utility>

#include <precast/backend.hpp>
#include <precast/memory/memory.hpp>
#include <precast/tensor/owned_tensor.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/device_copies.hpp>
#endif

namespace precast {

/// The values of a tensor in the host's memory: those that the context in which it was made has given it so
/// far, whatever the current one is.
template <ScalarDtype T, class Memory>
HostTensor<T> to_host(const Tensor<T, Memory>& tensor) {
  HostTensor<T> copy(tensor.shape());
  tensor.download(copy.data());
  return copy;
}
/// The same of a tensor that is no longer needed, which moves where it lies there already.
template <ScalarDtype T, class Memory>
HostTensor<T> to_host(Tensor<T, Memory>&& tensor) {
  if constexpr (Memory::on_host)
    return std::move(tensor);
  else
    return to_host(std::as_const(tensor));
}

}  // namespace precast
