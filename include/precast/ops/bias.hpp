// Bias: the bias of a linear layer or a convolution in the forms that kernels take, made once, as it is
// loaded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <precast/backend.hpp>
#include <precast/backend/convert.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::detail {

inline namespace PRECAST_BACKEND {

/// Values of the host's in another dtype, in the memory that ops read.
template <ScalarDtype To, ScalarDtype From>
Tensor<To> arrived_as(std::span<const From> values) {
  HostTensor<To> converted(Shape{static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size() && !DryRun::active(); ++i)
    converted.data()[i] = convert_value<To>(values[i]);
  return arrived(std::move(converted));
}
/// Values that ops read, in another dtype, for ops of every stream.
template <ScalarDtype To, ScalarDtype From>
Tensor<To> converted_as(View<const From> values) {
  Tensor<To> converted(Shape{values.elements()});
  if (DryRun::active() || values.elements() == 0) return converted;
  backend::convert_values<To>(values, converted.view());
  converted.note_written();
  return converted;
}

/// A bias for products of these dtypes: in f32, exactly, and, where the backend has a library that wants it
/// so, in the result's dtype.
template <class Types>
class Bias {
 public:
  using Storage = typename Types::vector_storage;
  using Result = typename Types::result;

  /// Takes a bias that is empty or has one value for each of `features`. Throws ShapeError for any other
  /// number.
  Bias(std::span<const Storage> bias, std::int64_t features) : in_f32_(arrived_as<f32>(bias)) {
    require_one_each(static_cast<std::int64_t>(bias.size()), features);
    if constexpr (backend::holds_narrow_bias<Types>) narrow_ = arrived_as<Result>(bias);
  }
  /// The same of values where ops read them, which they do now.
  static Bias of_view(View<const Storage> bias, std::int64_t features) {
    Bias made;
    require_one_each(bias.elements(), features);
    if (bias.rows() > 1)
      throw ShapeError("a bias of shape " + to_string(bias.shape()) + " is not [" + std::to_string(features) +
                       "], one value for each output feature");
    made.in_f32_ = converted_as<f32>(bias);
    if constexpr (backend::holds_narrow_bias<Types>) made.narrow_ = converted_as<Result>(bias);
    return made;
  }

  /// In f32; empty where the layer has none.
  View<const f32> in_f32() const { return in_f32_; }
  Epilogue epilogue(ActivationFunction activate) const {
    return {in_f32_, activate, NarrowBias(View<const Result>(narrow_))};
  }
  std::int64_t bytes() const {
    return bytes_for<f32>(in_f32_.elements()) + bytes_for<Result>(narrow_.elements());
  }

 private:
  Bias() = default;
  static void require_one_each(std::int64_t count, std::int64_t features) {
    if (count != 0 && count != features)
      throw ShapeError("a bias of " + std::to_string(count) + " does not fit a weight of " +
                       std::to_string(features) + " output features");
  }

  Tensor<f32> in_f32_;
  Tensor<Result> narrow_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
