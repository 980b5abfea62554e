// widened: a tensor as f32, exactly, for values that pass from one component to another.
#pragma once

#include <precast/backend.hpp>
#include <precast/backend/convert.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// The same values in f32, copied out of a view.
template <class T>
Tensor<f32> widened(const View<T>& view) {
  Tensor<f32> wide(view.shape());
  backend::convert_values(as_view(view), wide.view());
  return wide;
}

/// The same values in f32. An f32 tensor moves through.
template <ScalarDtype T>
Tensor<f32> widened(const Tensor<T>& tensor) {
  return widened(tensor.view());
}
inline Tensor<f32> widened(Tensor<f32> tensor) { return tensor; }

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
