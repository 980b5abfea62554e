// Casts between all scalar dtypes, copies among them.
#pragma once

#include <string>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/error.hpp>
#include <precast/problem/value_kernels.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// One value to another dtype, rounded once; the same code where dtypes are the same.
template <class To, bool Saturates>
struct Cast {
  template <class From>
  PRECAST_DEVICE To operator()(From value) const {
    if constexpr (std::is_same_v<From, To> && !Saturates)
      return value;
    else
      return round_to<To, Saturates>(to_f32(value));  // every scalar dtype is a part of f32
  }
};

/// One value rounded to another dtype, in its own.
template <class Rounded, bool Saturates>
struct RoundedAs {
  template <class T>
  PRECAST_DEVICE T operator()(T value) const {
    return Cast<T, false>{}(Cast<Rounded, Saturates>{}(value));
  }
};

}  // namespace detail

/// Converts an array to one of another dtype with the same number of values and columns; both may be strided.
/// With `Saturates`, values above the range of To become its largest number. Throws ShapeError.
template <ScalarDtype To, bool Saturates, ScalarArray A>
void convert_values(const A& from, DeviceView<To> to, Stream stream) {
  const auto in = as_view(from);
  if (in.elements() != to.elements() || in.columns() != to.columns())
    throw ShapeError("cannot copy " + to_string(in.shape()) + " into " + to_string(to.shape()));
  detail::map_arrays("convert_values", detail::Cast<To, Saturates>{}, to, stream, in);
}

/// Rounds the values of an array to another dtype, and stores them in their own.
template <ScalarDtype Rounded, bool Saturates, ScalarDtype T>
void round_in_place(DeviceView<T> values, Stream stream) {
  watch::rounded_to<Rounded>();
  detail::map_arrays("round_in_place", detail::RoundedAs<Rounded, Saturates>{}, values, stream,
                     DeviceView<const T>(values));
}

}  // namespace precast::gpu
