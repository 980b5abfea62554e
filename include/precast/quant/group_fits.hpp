// The searches behind K-quants: which scale, and which least value, fits a group of values. Each is ggml's
// search with its order of operations: sums run from the first value to the last in f32, so lanes are groups,
// never the values of one.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include <precast/quant/rounding.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

/// Some groups of `count` values side by side, as many as there are lanes: vector i holds value i of each.
template <int count, int lanes>
struct SideBySide {
  using F = Floats<lanes>;
  alignas(sizeof(F)) f32 values[count * lanes];

  explicit SideBySide(const f32* groups) {
    for (int i = 0; i < count; ++i)
      for (int lane = 0; lane < lanes; ++lane) values[i * lanes + lane] = groups[lane * count + i];
  }
  F operator[](int i) const { return load<F>(values + i * lanes); }
};

/// What a search finds for `groups` groups of `count` values: value = scale * code - least, or scale * code
/// where the search knows no least value.
template <int count, int groups>
struct Fits {
  f32 scales[groups], leasts[groups];
  std::uint8_t codes[count * groups];

  std::uint8_t code(int group, int value) const { return codes[value * groups + group]; }
};

/// Where lanes of groups put what they find: codes of one value of all groups are `groups` apart from those
/// of the next value.
struct FitsOut {
  f32* scales;
  f32* leasts;
  std::uint8_t* codes;
  int groups;
};

/// Weighted sums of a group's values times integers, and of squared integers: their quotient is the scale of
/// the least squared error.
template <class F>
struct ScaleSums {
  F values = {}, squares = {};

  void add(F weight, F value, F integer) {
    values += weight * value * integer;
    squares += weight * integer * integer;
  }
  void remove(F weight, F value, F integer) {
    values -= weight * value * integer;
    squares -= weight * integer * integer;
  }
};

/// The first of each group's values with the largest magnitude; 0 where all are 0.
template <int count, int lanes>
Floats<lanes> extremes(const SideBySide<count, lanes>& values) {
  Floats<lanes> largest = {}, found = {};
  for (int i = 0; i < count; ++i) {
    const auto size = magnitude(values[i]);
    const auto larger = size > largest;
    largest = larger ? size : largest;
    found = larger ? values[i] : found;
  }
  return found;
}

/// q6_k: integers in [-32, 31], and codes 32 above them. The extreme value goes to -32 first; 18 more scales
/// around that one are tried, each value weighted by its square.
struct FitAroundZero {
  static constexpr int at_once = 1;

  template <int count, int lanes>
  [[gnu::always_inline]] static void fit(const SideBySide<count, lanes>& values, FitsOut out) {
    using F = Floats<lanes>;
    constexpr int middle = 32;
    const F largest = extremes(values);
    const auto empty = magnitude(largest) < empty_group;
    const auto integer = [&](F by, int i) {
      return clamped(nearest_even(by * values[i]), -middle, middle - 1);
    };
    const auto sums_with = [&](F by) {
      ScaleSums<F> sums;
      for (int i = 0; i < count; ++i) sums.add(values[i] * values[i], values[i], to_floats(integer(by, i)));
      return sums;
    };

    F best_by = every<F>(static_cast<f32>(-middle)) / largest;
    const ScaleSums<F> first = sums_with(best_by);
    F scale = first.squares != 0 ? first.values / first.squares : F{};
    F best = scale * first.values;
    for (int step = -9; step <= 9; ++step) {
      if (step == 0) continue;
      const F by = every<F>(-(static_cast<f32>(middle) + 0.1f * static_cast<f32>(step))) / largest;
      const ScaleSums<F> sums = sums_with(by);
      const auto better = (sums.squares > 0) & (sums.values * sums.values > best * sums.squares);
      best_by = better ? by : best_by;
      scale = better ? sums.values / sums.squares : scale;
      best = better ? scale * sums.values : best;
    }
    store(empty ? F{} : scale, out.scales);
    for (int i = 0; i < count; ++i)
      store_bytes(empty ? IntegersOf<F>{} : integer(best_by, i) + middle, out.codes + i * out.groups);
  }
};

/// q3_k: integers in [-4, 3], and codes 4 above them. From the integers that the extreme value gives, each is
/// changed to what is best beside the others, up to five times around.
struct FitOneByOne {
  /// Each step of a search waits for the one before it: some run at once.
  static constexpr int at_once = 4;
  static constexpr int middle = 4;

  template <class F>
  [[gnu::always_inline]] static F limited(F value) {
    return to_floats(clamped(nearest_even(value), -middle, middle - 1));
  }

  template <int count, int lanes>
  struct Search {
    using F = Floats<lanes>;
    SideBySide<count, lanes> values;
    ScaleSums<F> sums = {};
    F integers[count];
    IntegersOf<F> empty;

    explicit Search(const f32* groups) : values(groups) {
      const F largest = extremes(values);
      empty = magnitude(largest) < empty_group;
      const F by = every<F>(static_cast<f32>(-middle)) / largest;
      for (int i = 0; i < count; ++i) {
        integers[i] = limited(by * values[i]);
        sums.add(values[i] * values[i], values[i], integers[i]);
      }
    }

    /// Changes the integers of value i where others are better; true lanes of what comes back were changed.
    [[gnu::always_inline]] IntegersOf<F> improve(int i) {
      const F value = values[i], weight = value * value;
      ScaleSums<F> others = sums;
      others.remove(weight, value, integers[i]);
      const F better = limited(value * others.squares / others.values);
      auto take = (others.values > 0) & (better != integers[i]);
      others.add(weight, value, better);
      take &= (others.squares > 0) &
              (others.values * others.values * sums.squares > sums.values * sums.values * others.squares);
      integers[i] = take ? better : integers[i];
      sums.values = take ? others.values : sums.values;
      sums.squares = take ? others.squares : sums.squares;
      return take;
    }
  };

  template <int count, int lanes, int searches>
  static void fit(Search<count, lanes> (&all)[searches], FitsOut out) {
    constexpr int rounds = 5;
    using F = Floats<lanes>;
    // A round that changes nothing in a group would change nothing in it again.
    bool active[searches];
    for (bool& search : active) search = true;
    for (int round = 0; round < rounds; ++round) {
      IntegersOf<F> changed[searches] = {};
      for (int i = 0; i < count; ++i)
        for (int s = 0; s < searches; ++s)
          if (active[s]) changed[s] |= all[s].improve(i);
      for (int s = 0; s < searches; ++s) active[s] = any(changed[s]);
    }
    for (const Search<count, lanes>& search : all) {
      const ScaleSums<F>& sums = search.sums;
      store(search.empty | ~(sums.squares > 0) ? F{} : sums.values / sums.squares, out.scales);
      for (int i = 0; i < count; ++i)
        store_bytes(search.empty ? IntegersOf<F>{}
                                 : __builtin_convertvector(search.integers[i], IntegersOf<F>) + middle,
                    out.codes + i * out.groups);
      out.scales += lanes, out.codes += lanes;
    }
  }
};

}  // namespace detail

/// What the search for a line tries: `steps` + 1 scales, from those that spread the values over most + first
/// integers on, `step` of an integer apart.
struct LineSearch {
  int most;  ///< the largest integer
  f32 first, step;
  int steps;
  bool absolute;  ///< errors count as they are, not squared
};

namespace detail {

/// q2_k, q4_k, q5_k: integers in [0, most], with a least value that is never positive. Each scale that is
/// tried gives integers, these give scale and least value by weighted least squares, and what has the
/// smallest weighted error is kept. Values weigh their magnitude; in groups of 32 their root mean square is
/// added.
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
      // The least value that is best so far is what the next scale is tried with.
      least = better ? this_least : least;
    }
    store(alike ? F{} : scale, out.scales);
    store(-least, out.leasts);
    for (int i = 0; i < count; ++i)
      store_bytes(alike ? IntegersOf<F>{} : integer(best_by, best_from, i), out.codes + i * out.groups);
  }
};

}  // namespace detail

/// The search `Fit` in `groups` groups of `count` values.
template <class Fit, int count, int groups>
detail::Fits<count, groups> fit_groups(const f32* values) {
  constexpr int lanes = detail::lanes_for<groups>, at_once = min_of(Fit::at_once, groups / lanes);
  detail::Fits<count, groups> fits;
  for (int g = 0; g < groups; g += lanes * at_once) {
    const detail::FitsOut out{fits.scales + g, fits.leasts + g, fits.codes + g, groups};
    if constexpr (Fit::at_once == 1) {
      Fit::fit(detail::SideBySide<count, lanes>(values + g * count), out);
    } else {
      const auto search = [&](int s) {
        return typename Fit::template Search<count, lanes>(values + (g + s * lanes) * count);
      };
      [&]<int... s>(std::integer_sequence<int, s...>) {
        typename Fit::template Search<count, lanes> all[]{search(s)...};
        Fit::fit(all, out);
      }
      (std::make_integer_sequence<int, at_once>{});
    }
  }
  return fits;
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
