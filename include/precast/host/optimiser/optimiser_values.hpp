// An optimiser's step on the values of one parameter, in an order that no number of threads changes.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/exact_arithmetic.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/runtime/for_each_chunk.hpp>
#include <precast/problem/adamw_step.hpp>

namespace precast::host {

/// Multiplies values by a factor, rounded to their dtype.
template <ScalarDtype T>
void scale_values(std::span<T> values, f32 factor) {
  for_each_chunk(values.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i)
      values[i] = convert_value<T>(convert_value<f32>(values[i]) * factor);
  });
}

/// The same, unless the factor is 1. Returns how many values were inf or NaN before.
template <ScalarDtype T>
std::int64_t unscale_values(std::span<T> values, f32 inverse) {
  std::atomic<std::int64_t> non_finite{0};
  for_each_chunk(values.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    std::int64_t found = 0;
    for (std::size_t i = first; i < end; ++i) found += !std::isfinite(convert_value<f32>(values[i]));
    if (inverse != 1.0f)
      for (std::size_t i = first; i < end; ++i)
        values[i] = convert_value<T>(convert_value<f32>(values[i]) * inverse);
    non_finite.fetch_add(found, std::memory_order_relaxed);
  });
  return non_finite.load();
}

/// The sum of the squares of values, in f64.
template <ScalarDtype T>
double sum_of_squares(std::span<const T> values) {
  std::vector<double> sums(chunks_of(values.size()));
  for_each_chunk(values.size(), [&](std::size_t chunk, std::size_t first, std::size_t end) {
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      const double value = convert_value<f32>(values[i]);
      sum += value * value;
    }
    sums[chunk] = sum;
  });
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

namespace detail {

PRECAST_EXACT_ARITHMETIC_BEGIN

/// AdamW's step on values [first, end) of one parameter.
template <ScalarDtype T>
[[gnu::noinline]] void adamw_chunk(std::span<T> parameter, std::span<const T> gradient, std::span<T> mean,
                                   std::span<T> square, const AdamWStep<T>& step, bool decays,
                                   std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    const AdamWValues next =
        step({convert_value<f32>(parameter[i]), convert_value<f32>(mean[i]), convert_value<f32>(square[i])},
             convert_value<f32>(gradient[i]), decays);
    parameter[i] = convert_value<T>(next.parameter);
    mean[i] = convert_value<T>(next.mean);
    square[i] = convert_value<T>(next.square);
  }
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace detail

/// AdamW's step on the values of one parameter.
template <ScalarDtype T>
void adamw_values(std::span<T> parameter, std::span<const T> gradient, std::span<T> mean, std::span<T> square,
                  const AdamWStep<T>& step, bool decays) {
  for_each_chunk(parameter.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    detail::adamw_chunk(parameter, gradient, mean, square, step, decays, first, end);
  });
}

}  // namespace precast::host
