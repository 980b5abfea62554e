// An optimiser's step on the host, for all parameters of a model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/optimiser/optimiser_values.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/runtime/for_each_chunk.hpp>
#include <precast/problem/optimiser_kernels.hpp>

namespace precast::host {

/// Multiplies gradients by `inverse`, and says what they were and are.
template <ScalarDtype T>
GradientSums unscale_gradients(std::span<const HostView<T>> gradients, f32 inverse) {
  GradientSums sums;
  for (const HostView<T>& gradient : gradients) {
    sums.non_finite += unscale_values(gradient.values(), inverse);
    sums.squares += sum_of_squares(std::span<const T>(gradient.values()));
  }
  return sums;
}

/// Multiplies gradients by a factor, rounded to their dtype.
template <ScalarDtype T>
void scale_gradients(std::span<const HostView<T>> gradients, f32 factor) {
  for (const HostView<T>& gradient : gradients) scale_values(gradient.values(), factor);
}

/// AdamW's step on all parameters, whose master weights are rounded to the copies that ops read.
template <ScalarDtype T, ScalarDtype Stored>
void adamw(std::span<const AdamWArrays<T, Stored>> parameters, const AdamWStep<T>& step) {
  for (const AdamWArrays<T, Stored>& one : parameters) {
    adamw_values<T>(one.master.values(), one.gradient.values(), one.mean.values(), one.square.values(), step,
                    one.decays && step.decays);
    if constexpr (!std::is_same_v<T, Stored>) {
      const std::span<const T> masters = one.master.values();
      for_each_chunk(masters.size(), [&](std::size_t, std::size_t first, std::size_t end) {
        convert_row<Stored>(masters.subspan(first, end - first),
                            one.stored.values().subspan(first, end - first));
      });
    }
  }
}

/// Fills with zeros.
template <ScalarDtype T>
void clear_values(HostView<T> values) {
  const std::span<T> all = values.values();
  for_each_chunk(all.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    std::ranges::fill(all.subspan(first, end - first), convert_value<T>(0.0f));
  });
}

}  // namespace precast::host
