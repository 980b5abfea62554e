// The parts of the search encoder: trial scales in lanes are tried on a group of values, and each gives its
// error and the scale that is best for the codes it led to.
#pragma once

#include <cmath>
#include <cstdint>

#include <precast/dtype/float_format.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/quant/lookup_blocks.hpp>
#include <precast/quant/rounding.hpp>
#include <precast/quant/vectors.hpp>

namespace precast::quant::detail {

using precast::detail::half_value;

PRECAST_EXACT_ARITHMETIC_BEGIN

/// The number of trial scales at a time, whatever the register width: the bytes are the same everywhere.
inline constexpr int tries = 16;
using Tries = Floats<lanes_for<tries>>;

/// Integers from `least` to `most`. A grid says which of its numbers is nearest, its ends, and how far apart
/// its numbers are about these.
template <int least, int most>
struct IntegerGrid {
  static constexpr f32 low = static_cast<f32>(least), high = static_cast<f32>(most), step = 1;
  /// Ties to even. In the sum the integer stands in the last bits, where it is limited: 4 instructions.
  template <class F>
  [[gnu::always_inline]] static F nearest(F value) {
    using I = IntegersOf<F>;
    constexpr f32 unit = 12582912.f;  // one unit of its last place is 1
    const I least_code = every<I>(bit_cast<std::int32_t>(unit + low));
    const I most_code = every<I>(bit_cast<std::int32_t>(unit + high));
    const I code = smaller(larger(reinterpret_cast<I>(value + unit), least_code), most_code);
    return reinterpret_cast<F>(code) - unit;
  }
};

/// The 16 integers of iq4_nl and iq4_xs.
struct Iq4Grid {
  static constexpr f32 low = static_cast<f32>(precast::detail::iq4_value(0)),
                       high = static_cast<f32>(precast::detail::iq4_value(15)), step = 16;
  template <class F>
  [[gnu::always_inline]] static F nearest(F value) {
    return nearest_iq4(value);
  }
};

/// The numbers of e2m1.
struct E2m1Grid {
  static constexpr f32 low = -6, high = 6, step = 1;
  template <class F>
  [[gnu::always_inline]] static F nearest(F value) {
    // Steps of a half below 2, of 1 below 4, of 2 below 6; halves of a step as they fall.
    const F size = magnitude(value);
    F number = ((size * 2.0f + 12582912.f) - 12582912.f) * 0.5f;
    number = size < 1.75f ? number : (size + 12582912.f) - 12582912.f;
    number = size < 3.5f ? number : every<F>(4.0f);
    number = size < 5.0f ? number : every<F>(6.0f);
    return value < 0 ? -number : number;
  }
};

/// The numbers of a scalar dtype of few bits, up to its largest.
template <ScalarDtype T>
struct FloatGrid {
  template <class F>
  [[gnu::always_inline]] static F nearest(F value) {
    using I = IntegersOf<F>;
    constexpr FloatFormat format = dtype_traits<T>::format;
    constexpr f32 most = static_cast<f32>(format.max()), least_normal = static_cast<f32>(format.min_normal());
    constexpr int dropped = 23 - format.mantissa_bits;
    constexpr std::int32_t half = (1 << (dropped - 1)) - 1, kept = ~((1 << dropped) - 1);
    // One unit of its last place is the least subnormal number.
    constexpr f32 unit = static_cast<f32>(format.min_subnormal() * 0x1.8p23);
    F size = magnitude(value);
    size = size < most ? size : every<F>(most);
    const I word = reinterpret_cast<I>(size);
    const F normal = reinterpret_cast<F>((word + half + (word >> dropped & 1)) & kept);
    const F below = (size + unit) - unit;
    const F number = size < least_normal ? below : normal;
    return value < 0 ? -number : number;
  }
};

/// A number as an f16 keeps it; above 65504 it is left alone.
struct AsHalf {
  template <class F>
  [[gnu::always_inline]] static F stored(F value) {
    using I = IntegersOf<F>;
    const I word = reinterpret_cast<I>(value);
    const F normal = reinterpret_cast<F>((word + 0xfff + (word >> 13 & 1)) & ~0x1fff);
    const F below = (value + 0.75f) - 0.75f;  // multiples of 2^-24
    return magnitude(value) < 0x1p-14f ? below : normal;
  }
};

/// A scale that is not stored itself, but only leads to one that is.
struct AsItIs {
  template <class F>
  [[gnu::always_inline]] static F stored(F value) {
    return value;
  }
};

/// 1 / scale, and 0 for 0.
template <class F>
[[gnu::always_inline]] inline F reciprocals(F scale) {
  return scale != 0 ? 1.0f / scale : F{};
}

/// Weighted sums over a group: of squared errors, of value times number, of squared numbers, and of numbers.
template <class F>
struct TrialSums {
  F error = {}, products = {}, squares = {}, numbers = {};
};

/// Tries `count` values as scale times a number of the grid, plus shift. Without `for_refit` only the error
/// is summed.
template <class Grid, int count, bool for_refit = true, class F>
[[gnu::always_inline]] inline TrialSums<F> try_line(const f32* values, const f32* weights, F scale, F shift) {
  const F by = reciprocals(scale);
  TrialSums<F> sums;
  for (int i = 0; i < count; ++i) {
    const F number = Grid::nearest((values[i] - shift) * by);
    const F difference = scale * number + shift - values[i];
    sums.error += weights[i] * (difference * difference);
    if constexpr (for_refit) {
      const F weighted = weights[i] * number;
      sums.products += weighted * values[i];
      sums.squares += weighted * number;
      sums.numbers += weighted;
    }
  }
  return sums;
}
template <class Grid, int count, bool for_refit = true, class F>
[[gnu::always_inline]] inline TrialSums<F> try_scale(const f32* values, const f32* weights, F scale) {
  return try_line<Grid, count, for_refit>(values, weights, scale, F{});
}

/// The best trial of a search so far. Of equal errors the smaller numbers win, so that the order of lanes
/// has no effect.
template <int numbers>
struct Found {
  f32 error = HUGE_VALF;
  f32 number[numbers] = {};

  template <class F>
  void offer(F errors, const F (&those)[numbers]) {
    for (int lane = 0; lane < lanes_of<F>; ++lane) {
      if (!(errors[lane] <= error)) continue;
      bool better = errors[lane] < error;
      for (int n = 0; n < numbers && !better && those[n][lane] <= number[n]; ++n)
        better = those[n][lane] < number[n];
      if (!better) continue;
      error = errors[lane];
      for (int n = 0; n < numbers; ++n) number[n] = those[n][lane];
    }
  }
};

/// The codes of a group without a scale.
template <int count>
void zeros(int, std::uint8_t* codes) {
  for (int i = 0; i < count; ++i) codes[i] = 0;
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant::detail
