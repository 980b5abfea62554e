// bias_in_f32: the bias of a linear layer or a convolution, stored in the policy's storage and held in f32,
// exactly.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <precast/backend/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/host/convert.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::detail {

inline namespace PRECAST_BACKEND {

/// Widens a bias, which is empty or has one value for each of `features`. Throws ShapeError for any other
/// number.
template <ScalarDtype Storage>
Tensor<f32> bias_in_f32(std::span<const Storage> bias, std::int64_t features) {
  const auto count = static_cast<std::int64_t>(bias.size());
  if (count != 0 && count != features)
    throw ShapeError("a bias of " + std::to_string(count) + " does not fit a weight of " +
                     std::to_string(features) + " output features");
  HostTensor<f32> wide(Shape{count});
  host::convert_row<f32>(bias, wide.values());
  return arrived(std::move(wide));
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
