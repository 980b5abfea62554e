// map_values: a function of f32 values (problem/elementwise.hpp) over arrays of any scalar dtypes.
#pragma once

#include <precast/backend/declarations.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/pointwise/map_kernel.hpp>

namespace precast::cuda {

namespace detail {

/// What `function` makes of f32 values, rounded once.
template <class To, bool Saturates, class F>
struct InF32 {
  F function;
  template <class... From>
  PRECAST_DEVICE To operator()(From... values) const {
    return round_to<To, Saturates>(function(to_f32(values)...));
  }
};

}  // namespace detail

/// As problem/broadcast.hpp has it. `function` is copied to the device. Runs on the current stream.
template <bool Saturates, class T, class F, class... In>
void map_values(DeviceView<T> out, const F& function, const In&... in) {
  detail::map_arrays("map_values", detail::InF32<T, Saturates, F>{function}, out, current_stream(), in...);
}

}  // namespace precast::cuda
