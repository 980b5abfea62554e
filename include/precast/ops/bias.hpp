// Bias: the bias of a linear layer or a convolution in the dtypes that kernels read, converted once, as it
// is loaded.
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
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
#include <precast/tensor/view.hpp>

namespace precast {

namespace detail {

/// A contiguous array of T in host memory, where Space is HostSpace.
template <class A, class T, class Space>
concept HostArrayOf = std::same_as<Space, HostSpace> && std::convertible_to<const A&, std::span<const T>>;

/// The same with a scalar dtype other than T.
template <class A, class T, class Space>
concept HostArrayOfAnotherDtype = std::same_as<Space, HostSpace> && std::ranges::contiguous_range<const A> &&
    ScalarDtype<std::ranges::range_value_t<A>> && !std::same_as<std::ranges::range_value_t<A>, T>;

}  // namespace detail

/// A bias that a program passes: a Tensor or View in a memory space; in HostSpace, any contiguous array.
template <ScalarDtype T, class Space>
class BiasValues {
 public:
  BiasValues() = default;
  template <std::convertible_to<ViewIn<const T, Space>> Array>
  BiasValues(const Array& array) : view_(array) {}  // NOLINT(google-explicit-constructor)
  template <detail::HostArrayOf<T, Space> Array>
  BiasValues(const Array& array) {  // NOLINT(google-explicit-constructor)
    const std::span<const T> values(array);
    view_ = {values.data(), Shape{static_cast<std::int64_t>(values.size())}};
  }
  /// Does not compile (static_assert): an array of another dtype.
  template <detail::HostArrayOfAnotherDtype<T, Space> Other>
  BiasValues(const Other&) {  // NOLINT(google-explicit-constructor)
    static_assert(
        !detail::HostArrayOfAnotherDtype<Other, T, Space>,
        "Precast: this bias has another dtype than its weight takes, which is the vector storage of "
        "its class under the policy (LinearWeight<P>::BiasStorage): convert_value<To>() converts a "
        "number, cast() a tensor.");
  }

  const ViewIn<const T, Space>& view() const { return view_; }

 private:
  ViewIn<const T, Space> view_{};
};

}  // namespace precast

namespace precast::detail {

inline namespace PRECAST_BACKEND {

/// Converts host values to another dtype, and moves them to this backend's memory.
template <ScalarDtype To, ScalarDtype From>
Tensor<To> arrived_as(std::span<const From> values) {
  HostTensor<To> converted(Shape{static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size() && !DryRun::active(); ++i)
    converted.data()[i] = convert_value<To>(values[i]);
  return arrived(std::move(converted));
}
/// Converts values in this backend's memory to another dtype; ops of every stream may read the result.
template <ScalarDtype To, ScalarDtype From>
Tensor<To> converted_as(View<const From> values) {
  Tensor<To> converted(Shape{values.elements()});
  if (DryRun::active() || values.elements() == 0) return converted;
  backend::convert_values<To>(values, converted.view());
  converted.note_written();
  return converted;
}

/// A bias for products of these dtypes: in f32, exactly, and also in the result's dtype where a library of
/// the backend takes it so.
template <class Types>
class Bias {
 public:
  using Storage = typename Types::vector_storage;
  using Result = typename Types::result;

  /// Takes a bias that is empty or has one value for each of `features`, and reads it now. Throws ShapeError
  /// for any other number.
  template <class Space>
  Bias(ViewIn<const Storage, Space> bias, std::int64_t features) {
    if (bias.elements() != 0 && bias.elements() != features)
      throw ShapeError("a bias of " + std::to_string(bias.elements()) + " does not fit a weight of " +
                       std::to_string(features) + " output features");
    if (bias.rows() > 1)
      throw ShapeError("a bias of shape " + to_string(bias.shape()) + " is not [" + std::to_string(features) +
                       "], one value for each output feature");
    in_f32_ = held_as<f32>(bias);
    if constexpr (backend::holds_narrow_bias<Types>) narrow_ = held_as<Result>(bias);
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
  template <ScalarDtype To, class Space>
  static Tensor<To> held_as(ViewIn<const Storage, Space> bias) {
    if constexpr (std::same_as<Space, BackendSpace>)
      return converted_as<To>(bias);
    else
      return arrived_as<To>(bias.values());
  }

  Tensor<f32> in_f32_;
  Tensor<Result> narrow_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
