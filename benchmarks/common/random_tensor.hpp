// Tensors of random values, in the memory of the backend.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <support/random_model.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::bench {

/// Values of about unit size: one run of random numbers again and again.
template <ScalarDtype T>
Tensor<T> random_tensor(const Shape& shape) {
  static const std::vector<T> values = [] {
    std::vector<T> rounded;
    for (const f32 value : testing::random_values<f32>(65521)) rounded.push_back(convert<T>(40 * value));
    return rounded;
  }();
  using Memory = typename Tensor<T>::memory_type;
  Tensor<T> tensor(shape);
  auto* const to = reinterpret_cast<std::byte*>(tensor.data());
  const auto bytes = static_cast<std::size_t>(bytes_for<T>(tensor.elements()));
  std::size_t filled = std::min(bytes, values.size() * sizeof(T));
  Memory::copy_from_host(to, values.data(), filled);
  while (filled < bytes) {  // whole runs so far, each time twice as many
    const std::size_t more = std::min(filled, bytes - filled);
    Memory::copy(to + filled, to, more);
    filled += more;
  }
  return tensor;
}

}  // namespace precast::bench
