// rounded_to: what remains of an f32 that was kept in another dtype.
#pragma once

#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

/// x rounded to T, to nearest, ties to even, as f32.
template <ScalarDtype T>
PRECAST_HOST_DEVICE f32 rounded_to(f32 x) {
  if constexpr (std::is_same_v<T, f32>)
    return x;
  else
    return convert_value<f32>(convert_value<T>(x));
}

}  // namespace precast
