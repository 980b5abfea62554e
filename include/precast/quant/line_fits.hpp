// The search of K-quants whose groups have a scale and a least value: ggml's, with its order of operations.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/quant/rounding.hpp>
#include <precast/quant/side_by_side.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

/// The trial scales of the search for a line: `steps` + 1 of them, from the one that spreads the values
/// over most + first integers on, `step` of an integer apart.
struct LineSearch {
  int most;  ///< the largest integer
  f32 first, step;
  int steps;
  bool absolute;  ///< errors count as they are, not squared
};

namespace detail {

/// q2_k, q4_k, q5_k: integers in [0, most], with a least value that is never positive. Each trial scale
/// gives integers, from which weighted least squares gives a scale and a least value; the pair of the
/// smallest weighted error is kept. A value's weight is its magnitude; in groups of 32 their root mean
/// square is added.
template <LineSearch search>
struct FitLine {
  static constexpr int at_once = 1;

  template <int count, int lanes>
  [[gnu::always_inline]] static void fit(const SideBySide<count, lanes>& values, FitsOut out) {
    using F = Floats<lanes>;
    F typical = {};
    if constexpr (count == 32) {
      for (int i = 0; i < count; ++i) typical += values[i] * values[i];
      typical /= static_cast<f32>(count);
      for (int lane = 0; lane < lanes; ++lane) typical[lane] = std::sqrt(typical[lane]);
    }
    F weights[count];
    for (int i = 0; i < count; ++i)
      weights[i] = count == 32 ? typical + magnitude(values[i]) : magnitude(values[i]);

    F least = values[0], most = values[0];
    F sum_weights = weights[0], sum_values = sum_weights * values[0];
    for (int i = 1; i < count; ++i) {
      least = values[i] < least ? values[i] : least;
      most = values[i] > most ? values[i] : most;
      sum_weights += weights[i];
      sum_values += weights[i] * values[i];
    }
    least = least > 0 ? F{} : least;
    const auto alike = most == least;
    const auto integer = [&](F by, F from, int i) {
      return clamped(nearest_even(by * (values[i] - from)), 0, search.most);
    };
    const auto error_of = [&](F scale, F shift, const F* integers) {
      F error = {};
      for (int i = 0; i < count; ++i) {
        const F difference = scale * integers[i] + shift - values[i];
        error += weights[i] * (search.absolute ? magnitude(difference) : difference * difference);
      }
      return error;
    };

    F best_by = every<F>(static_cast<f32>(search.most)) / (most - least), best_from = least;
    F scale = every<F>(1.0f) / best_by;
    F tried[count];
    for (int i = 0; i < count; ++i) tried[i] = to_floats(integer(best_by, least, i));
    F best_error = error_of(scale, least, tried);
    for (int step = 0; step <= search.steps; ++step) {
      const F by =
          every<F>(search.first + search.step * static_cast<f32>(step) + static_cast<f32>(search.most)) /
          (most - least);
      F sum_integers = {}, sum_squares = {}, sum_products = {};
      for (int i = 0; i < count; ++i) {
        tried[i] = to_floats(integer(by, least, i));
        const F weighted = weights[i] * tried[i];
        sum_integers += weighted;
        sum_squares += weighted * tried[i];
        sum_products += weighted * values[i];
      }
      const F determinant = sum_weights * sum_squares - sum_integers * sum_integers;
      F this_scale = (sum_weights * sum_products - sum_values * sum_integers) / determinant;
      F this_least = (sum_squares * sum_values - sum_integers * sum_products) / determinant;
      const auto above = this_least > 0;
      this_least = above ? F{} : this_least;
      this_scale = above ? sum_products / sum_squares : this_scale;
      const F error = error_of(this_scale, this_least, tried);
      const auto better = (determinant > 0) & (error < best_error) & ~alike;
      best_by = better ? by : best_by;
      best_from = better ? least : best_from;
      best_error = better ? error : best_error;
      scale = better ? this_scale : scale;
      // The next scale is tried with the best least value so far.
      least = better ? this_least : least;
    }
    store(alike ? F{} : scale, out.scales);
    store(-least, out.leasts);
    for (int i = 0; i < count; ++i)
      store_bytes(alike ? IntegersOf<F>{} : integer(best_by, best_from, i), out.codes + i * out.groups);
  }
};

}  // namespace detail

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
