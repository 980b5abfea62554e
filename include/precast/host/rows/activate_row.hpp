// activate_row: an activation function over a row of values.
#pragma once

#include <span>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/activate.hpp>
#include <precast/problem/elementwise.hpp>

namespace precast::host {

/// Applies an activation function to values in place. No template, so that a file holds its loops once.
inline void activate_row(ActivationFunction activation, std::span<f32> values) {
  if (activation == ActivationFunction::none) return;
  elementwise::visit_activation(activation, [values](auto function) {
    for (f32& value : values) value = function(value);
  });
}

}  // namespace precast::host
