// An activation after a norm whose intermediates are narrower than f32.
#pragma once

#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/problem/elementwise.hpp>

namespace precast {

/// An activation after a norm, with its input and its intermediates rounded to Types::inside.
template <class Types, class Activation>
PRECAST_HOST_DEVICE f32 narrow_activation(f32 x) {
  using Inside = typename Types::inside;
  if constexpr (std::is_same_v<Activation, elementwise::Identity>)
    return x;
  else
    return elementwise::Stepwise<Inside, Activation>{}(rounded_to<Inside>(x));
}

}  // namespace precast
