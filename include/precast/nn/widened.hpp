// widened: a tensor as f32, exactly, where values leave one component for another.
#pragma once

#include <type_traits>
#include <utility>

#include <precast/backend/backend.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// The same values in f32. An f32 tensor moves through.
template <ScalarDtype T>
Tensor<f32> widened(Tensor<T> tensor) {
  if constexpr (std::is_same_v<T, f32>) {
    return tensor;
  } else {
    return precast::detail::in_f32(tensor);
  }
}

/// The same values in f32, copied out of a view.
template <class T>
Tensor<f32> widened(const View<T>& view) {
  return precast::detail::in_f32(view);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
