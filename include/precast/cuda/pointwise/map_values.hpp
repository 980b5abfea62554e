// map_values: a function of f32 values (problem/elementwise.hpp) over arrays of any scalar dtypes.
#pragma once

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/value_kernels.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// Calls `function` with f32 values, and rounds its result once.
template <class To, bool Saturates, class F>
struct InF32 {
  F function;
  template <class... From>
  PRECAST_DEVICE To operator()(From... values) const {
    return round_to<To, Saturates>(with_planted_dtype<"result ignored">(function(to_f32(values)...)));
  }
};

/// The same, with each value between two steps of the function rounded to Types::inside.
template <class Types, class F>
struct InSteps {
  F function;
  template <class... From>
  PRECAST_DEVICE typename Types::result operator()(From... values) const {
    const f32 value = planted<"inside ignored">(
        elementwise::Stepwise<typename Types::inside, F>{function}(to_f32(values)...),
        function(to_f32(values)...));
    return round_to<typename Types::result, Types::saturate>(with_planted_dtype<"result ignored">(value));
  }
};

/// The function that map_values' kernel calls with values in the inputs' own dtypes.
template <class Types, class F>
auto map_function(const F& function) {
  if constexpr (std::is_same_v<typename Types::inside, f32>)
    return InF32<typename Types::result, Types::saturate, F>{function};
  else
    return InSteps<Types, F>{function};
}

}  // namespace detail

/// As problem/broadcast.hpp has it. `function` is copied to the device. Runs on the current stream.
template <class Types, class F, class... In>
void map_values(DeviceView<typename Types::result> out, const F& function, const In&... in) {
  watch::ran_in<Types>();
  detail::map_arrays("map_values", detail::map_function<Types>(function), out, current_stream(), in...);
}

/// The values of x in the same places of `out`, whose shape may be another with as many rows of as many
/// columns.
template <class Types, class From>
void copy_values(DeviceView<const From> x, DeviceView<typename Types::result> out, Stream stream) {
  watch::ran_in<Types>();
  convert_values<typename Types::result, Types::saturate>(x, out, stream);
}

}  // namespace precast::gpu
