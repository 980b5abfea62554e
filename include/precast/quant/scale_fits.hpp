// The searches of K-quants whose groups have a scale alone: ggml's, with its order of operations.
#pragma once

#include <cstdint>

#include <precast/quant/rounding.hpp>
#include <precast/quant/side_by_side.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

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

/// q3_k: integers in [-4, 3], and codes 4 above them. It starts from the integers that the extreme value
/// gives, and replaces each by the best one beside the others, in up to five rounds.
struct FitOneByOne {
  /// Each step of a search depends on the one before it: several searches run at once.
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

    /// Replaces the integers of value i where others are better; true lanes of the result were changed.
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

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
