// Epilogue: what a product does to its sums before it stores them.
#pragma once

#include <string_view>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// The bias in a dtype other than f32: GEMM libraries take it only in the dtype of the result. Empty by
/// default.
class NarrowBias {
 public:
  NarrowBias() = default;
  template <ScalarDtype T>
  explicit NarrowBias(View<const T> values) : data_(values.data()), dtype_(dtype_traits<T>::name) {}

  /// The values where their dtype is T, else null.
  template <ScalarDtype T>
  const T* as() const {
    return dtype_ == dtype_traits<T>::name ? static_cast<const T*>(data_) : nullptr;
  }

 private:
  const void* data_ = nullptr;
  std::string_view dtype_;
};

/// The operations on a sum of products before it is stored: a bias, widened exactly to f32 from its storage
/// (empty: none), then an activation.
struct Epilogue {
  View<const f32> bias;
  ActivationFunction activate = ActivationFunction::none;
  NarrowBias narrow_bias{};  ///< the same values, where the backend holds them in another dtype too
};

}  // namespace PRECAST_BACKEND

}  // namespace precast
