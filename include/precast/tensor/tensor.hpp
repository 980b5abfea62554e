// Tensor: an owning, contiguous array of scalars, and its copies from and to the host.
#pragma once

#include <utility>

#include <precast/backend.hpp>
#include <precast/memory/memory.hpp>
#include <precast/tensor/owned_tensor.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/device_copies.hpp>
#endif

namespace precast {

/// The values of a tensor in host memory, after the work queued so far in the context in which the tensor
/// was made, whatever the current context is.
template <ScalarDtype T, class Memory>
HostTensor<T> to_host(const Tensor<T, Memory>& tensor) {
  HostTensor<T> copy(tensor.shape());
  tensor.download(copy.data());
  return copy;
}
/// The same for a tensor that is no longer needed: moved where it is in host memory already.
template <ScalarDtype T, class Memory>
HostTensor<T> to_host(Tensor<T, Memory>&& tensor) {
  if constexpr (Memory::on_host)
    return std::move(tensor);
  else
    return to_host(std::as_const(tensor));
}

}  // namespace precast
