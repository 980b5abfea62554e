// The searches behind K-quants: which scale, and which least value, fits a group of values. Each is ggml's
// search with its order of operations: sums run from the first value to the last in f32, so that what can be
// done side by side is groups, never the values of one.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/quant/rounding.hpp>

namespace precast::quant {

/// Integers of a group, and what they are multiplied by.
struct FittedScale {
  f32 scale = 0;
};
/// The same with a least value: value = scale * integer - least.
struct FittedLine {
  f32 scale = 0, least = 0;
};

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// Weighted sums of a group's values times integers, and of squared integers: their quotient is the scale of
/// the least squared error.
struct ScaleSums {
  f32 values = 0, squares = 0;

  void add(f32 weight, f32 value, f32 integer) {
    values += weight * value * integer;
    squares += weight * integer * integer;
  }
  void remove(f32 weight, f32 value, f32 integer) {
    values -= weight * value * integer;
    squares -= weight * integer * integer;
  }
};

}  // namespace detail

/// q6_k: integers in [-32, 31] written to `codes` as [0, 63]. The extreme value goes to -32 first; 18 more
/// scales around that one are tried, each value weighted by its square.
inline FittedScale fit_around_zero(const f32* values, std::int8_t* codes) {
  constexpr int count = 16, middle = 32;
  const f32 largest = extreme<count>(values);
  if (std::fabs(largest) < empty_group) {
    for (int i = 0; i < count; ++i) codes[i] = 0;
    return {};
  }
  const auto integer = [&](f32 by, int i) {
    return clamped(nearest_even(by * values[i]), -middle, middle - 1);
  };
  const auto sums_with = [&](f32 by) {
    detail::ScaleSums sums;
    for (int i = 0; i < count; ++i)
      sums.add(values[i] * values[i], values[i], static_cast<f32>(integer(by, i)));
    return sums;
  };
  const auto take = [&](f32 by) {
    for (int i = 0; i < count; ++i) codes[i] = static_cast<std::int8_t>(integer(by, i) + middle);
  };

  const f32 first_by = static_cast<f32>(-middle) / largest;
  const detail::ScaleSums first = sums_with(first_by);
  take(first_by);
  f32 scale = first.squares != 0 ? first.values / first.squares : 0.0f;
  f32 best = scale * first.values;
  for (int step = -9; step <= 9; ++step) {
    if (step == 0) continue;
    const f32 by = -(static_cast<f32>(middle) + 0.1f * static_cast<f32>(step)) / largest;
    const detail::ScaleSums sums = sums_with(by);
    if (sums.squares > 0 && sums.values * sums.values > best * sums.squares) {
      take(by);
      scale = sums.values / sums.squares;
      best = scale * sums.values;
    }
  }
  return {scale};
}

/// q3_k: integers in [-4, 3] written to `codes` as [0, 7]. From the integers that the extreme value gives,
/// each is changed to what is best beside the others, up to five times around.
inline FittedScale fit_one_by_one(const f32* values, std::int8_t* codes) {
  constexpr int count = 16, middle = 4, rounds = 5;
  const f32 largest = extreme<count>(values);
  if (std::fabs(largest) < empty_group) {
    for (int i = 0; i < count; ++i) codes[i] = 0;
    return {};
  }
  const f32 by = static_cast<f32>(-middle) / largest;
  detail::ScaleSums sums;
  int integers[count];
  for (int i = 0; i < count; ++i) {
    integers[i] = clamped(nearest_even(by * values[i]), -middle, middle - 1);
    sums.add(values[i] * values[i], values[i], static_cast<f32>(integers[i]));
  }
  for (int round = 0; round < rounds; ++round) {
    bool changed = false;
    for (int i = 0; i < count; ++i) {
      const f32 weight = values[i] * values[i];
      detail::ScaleSums others = sums;
      others.remove(weight, values[i], static_cast<f32>(integers[i]));
      if (!(others.values > 0)) continue;
      const int better =
          clamped(nearest_even(values[i] * others.squares / others.values), -middle, middle - 1);
      if (better == integers[i]) continue;
      others.add(weight, values[i], static_cast<f32>(better));
      if (others.squares > 0 &&
          others.values * others.values * sums.squares > sums.values * sums.values * others.squares) {
        integers[i] = better;
        sums = others;
        changed = true;
      }
    }
    if (!changed) break;
  }
  for (int i = 0; i < count; ++i) codes[i] = static_cast<std::int8_t>(integers[i] + middle);
  return {sums.squares > 0 ? sums.values / sums.squares : 0.0f};
}

/// What the search for a line tries: `steps` + 1 scales, from those that spread the values over most + first
/// integers on, `step` of an integer apart.
struct LineSearch {
  int most;  ///< the largest integer
  f32 first, step;
  int steps;
  bool absolute;  ///< errors count as they are, not squared
};

/// q2_k, q4_k, q5_k: integers in [0, most] written to `codes`, with a least value that is never positive.
/// Each scale that is tried gives integers, these give scale and least value by weighted least squares, and
/// what has the smallest weighted error is kept.
template <int count, LineSearch search>
FittedLine fit_line(const f32* values, const f32* weights, std::uint8_t* codes) {
  f32 least = values[0], most = values[0];
  f32 sum_weights = weights[0], sum_values = sum_weights * values[0];
  for (int i = 1; i < count; ++i) {
    if (values[i] < least) least = values[i];
    if (values[i] > most) most = values[i];
    sum_weights += weights[i];
    sum_values += weights[i] * values[i];
  }
  if (least > 0) least = 0;
  if (most == least) {
    for (int i = 0; i < count; ++i) codes[i] = 0;
    return {0, -least};
  }
  // The least value that is best so far is what the next scale is tried with.
  const auto encode_with = [&](f32 by, std::uint8_t* to) {
    for (int i = 0; i < count; ++i)
      to[i] = static_cast<std::uint8_t>(clamped(nearest_even(by * (values[i] - least)), 0, search.most));
  };
  const auto error_of = [&](f32 scale, f32 shift, const std::uint8_t* integers) {
    f32 error = 0;
    for (int i = 0; i < count; ++i) {
      const f32 difference = scale * static_cast<f32>(integers[i]) + shift - values[i];
      error += weights[i] * (search.absolute ? std::fabs(difference) : difference * difference);
    }
    return error;
  };

  const f32 first_by = static_cast<f32>(search.most) / (most - least);
  f32 scale = 1 / first_by;
  encode_with(first_by, codes);
  f32 best_error = error_of(scale, least, codes);
  for (int step = 0; step <= search.steps; ++step) {
    const f32 by = (search.first + search.step * static_cast<f32>(step) + static_cast<f32>(search.most)) /
                   (most - least);
    std::uint8_t tried[count];
    encode_with(by, tried);
    f32 sum_integers = 0, sum_squares = 0, sum_products = 0;
    for (int i = 0; i < count; ++i) {
      const f32 integer = static_cast<f32>(tried[i]), weighted = weights[i] * integer;
      sum_integers += weighted;
      sum_squares += weighted * integer;
      sum_products += weighted * values[i];
    }
    const f32 determinant = sum_weights * sum_squares - sum_integers * sum_integers;
    if (!(determinant > 0)) continue;
    f32 this_scale = (sum_weights * sum_products - sum_values * sum_integers) / determinant;
    f32 this_least = (sum_squares * sum_values - sum_integers * sum_products) / determinant;
    if (this_least > 0) {
      this_least = 0;
      this_scale = sum_products / sum_squares;
    }
    const f32 error = error_of(this_scale, this_least, tried);
    if (error < best_error) {
      for (int i = 0; i < count; ++i) codes[i] = tried[i];
      best_error = error;
      scale = this_scale;
      least = this_least;
    }
  }
  return {scale, -least};
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
