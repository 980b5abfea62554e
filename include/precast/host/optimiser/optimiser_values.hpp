// An optimiser's step on the values of one parameter, in an order that no number of threads changes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/exact_arithmetic.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/for_each_piece.hpp>
#include <precast/host/runtime/for_each_chunk.hpp>
#include <precast/host/simd/rounded_lanes.hpp>
#include <precast/host/simd/square_root.hpp>
#include <precast/problem/adamw_step.hpp>

namespace precast::host {

namespace detail {

/// Values as f32, to be changed and stored by store_row: the values themselves where they are f32.
template <ScalarDtype T>
std::span<f32> opened_row(std::span<T> row, f32* scratch) {
  const std::span<f32> wide = row_to_compute(row, scratch);
  convert_row<f32>(std::span<const T>(row), wide);
  return wide;
}

template <ScalarDtype T>
void scale_chunk(std::span<T> values, f32 factor) {
  std::array<f32, 512> scratch;
  for (std::size_t i = 0; i < values.size(); i += scratch.size()) {
    const std::span<T> some = values.subspan(i, std::min(scratch.size(), values.size() - i));
    const std::span<f32> wide = opened_row(some, scratch.data());
    for (f32& value : wide) value *= factor;
    store_row<false>(std::span<const f32>(wide), some);
  }
}

}  // namespace detail

/// Multiplies values by a factor, rounded to their dtype.
template <ScalarDtype T>
void scale_values(std::span<T> values, f32 factor) {
  for_each_chunk(values.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    detail::scale_chunk(values.subspan(first, end - first), factor);
  });
}

/// The same, unless the factor is 1. Returns how many values were inf or NaN before.
template <ScalarDtype T>
std::int64_t unscale_values(std::span<T> values, f32 inverse) {
  std::atomic<std::int64_t> non_finite{0};
  for_each_chunk(values.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    const std::span<T> chunk = values.subspan(first, end - first);
    std::int64_t found = 0;
    detail::for_each_piece(std::span<const T>(chunk), [&](std::span<const f32> piece) {
      for (const f32 value : piece) found += !std::isfinite(value);
    });
    if (inverse != 1.0f) detail::scale_chunk(chunk, inverse);
    non_finite.fetch_add(found, std::memory_order_relaxed);
  });
  return non_finite.load();
}

/// The sum of the squares of values, in f64. Of a chunk's values every 32nd is added to one of 32 sums, which
/// do not wait for each other, and these by halves.
template <ScalarDtype T>
double sum_of_squares(std::span<const T> values) {
  std::vector<double> sums(chunks_of(values.size()));
  for_each_chunk(values.size(), [&](std::size_t chunk, std::size_t first, std::size_t end) {
    constexpr std::size_t lanes = 32;
    std::array<double, lanes> parts{};
    detail::for_each_piece(values.subspan(first, end - first), [&](std::span<const f32> piece) {
      const auto add = [&](std::size_t i, std::size_t count) {
        for (std::size_t lane = 0; lane < count; ++lane) {
          const double value = piece[i + lane];
          parts[lane] += value * value;
        }
      };
      std::size_t i = 0;
      for (; i + lanes <= piece.size(); i += lanes) add(i, lanes);
      add(i, piece.size() - i);
    });
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
      for (std::size_t lane = 0; lane < half; ++lane) parts[lane] += parts[lane + half];
    sums[chunk] = parts[0];
  });
  double all = 0;
  for (const double sum : sums) all += sum;
  return all;
}

namespace detail {

PRECAST_EXACT_ARITHMETIC_BEGIN

#if !defined(__CUDACC__)  // nvcc compiles no vectors beside device code
/// The operations of AdamW on a register that are not operators.
template <ScalarDtype T>
struct AdamWOnRegister {
  template <class Other>
  [[gnu::always_inline]] static FloatsInRegister product(const FloatsInRegister& a, const Other& b) {
    return a * b;
  }
  [[gnu::always_inline]] static FloatsInRegister rounded(const FloatsInRegister& numbers) {
    FloatsInRegister result = numbers;
    if constexpr (vectors_round_to<T>)
      result = rounded_register<T>(numbers);
    else if constexpr (!std::is_same_v<T, f32>)
      for (int i = 0; i < static_cast<int>(values_in_register); ++i) result[i] = rounded_to<T>(numbers[i]);
    return result;
  }
  [[gnu::always_inline]] static FloatsInRegister root(const FloatsInRegister& numbers) {
    return square_root(numbers);
  }
};
#endif

/// AdamW's step on `count` values, as f32. The step is passed by value: its members must not be reloaded
/// after each store.
template <ScalarDtype T>
[[gnu::noinline]] void adamw_on_f32(f32* parameter, const f32* gradient, f32* mean, f32* square,
                                    std::size_t count, AdamWStep<T> step, bool decays) {
  std::size_t i = 0;
#if !defined(__CUDACC__)
  for (; i + values_in_register <= count; i += values_in_register) {
    AdamWValues<FloatsInRegister> at;
    FloatsInRegister of_gradient;
    std::memcpy(&at.parameter, parameter + i, sizeof at.parameter);
    std::memcpy(&at.mean, mean + i, sizeof at.mean);
    std::memcpy(&at.square, square + i, sizeof at.square);
    std::memcpy(&of_gradient, gradient + i, sizeof of_gradient);
    at = step.template operator()<AdamWOnRegister<T>>(at, of_gradient, decays);
    std::memcpy(parameter + i, &at.parameter, sizeof at.parameter);
    std::memcpy(mean + i, &at.mean, sizeof at.mean);
    std::memcpy(square + i, &at.square, sizeof at.square);
  }
#endif
  for (; i < count; ++i) {
    const AdamWValues next = step(AdamWValues<>{parameter[i], mean[i], square[i]}, gradient[i], decays);
    parameter[i] = next.parameter;
    mean[i] = next.mean;
    square[i] = next.square;
  }
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace detail

/// AdamW's step on the values of one parameter.
template <ScalarDtype T>
void adamw_values(std::span<T> parameter, std::span<const T> gradient, std::span<T> mean, std::span<T> square,
                  const AdamWStep<T>& step, bool decays) {
  for_each_chunk(parameter.size(), [&](std::size_t, std::size_t first, std::size_t end) {
    std::array<std::array<f32, 512>, 4> scratch;
    for (; first < end; first += scratch[0].size()) {
      const std::size_t count = std::min(scratch[0].size(), end - first);
      const auto some = [&](const auto& values) { return values.subspan(first, count); };
      const std::span<f32> p = detail::opened_row(some(parameter), scratch[0].data()),
                           m = detail::opened_row(some(mean), scratch[1].data()),
                           s = detail::opened_row(some(square), scratch[2].data());
      const std::span<const f32> g = row_in_f32(some(gradient), scratch[3].data());
      detail::adamw_on_f32<T>(p.data(), g.data(), m.data(), s.data(), count, step, decays);
      store_row<false>(std::span<const f32>(p), some(parameter));
      store_row<false>(std::span<const f32>(m), some(mean));
      store_row<false>(std::span<const f32>(s), some(square));
    }
  });
}

}  // namespace precast::host
