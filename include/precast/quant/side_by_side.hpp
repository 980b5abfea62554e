// Groups of values side by side in lanes, and what a search finds for each.
#pragma once

#include <cstdint>

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

/// The outputs for groups in lanes: codes of one value of all groups are `groups` apart from those of the
/// next value.
struct FitsOut {
  f32* scales;
  f32* leasts;
  std::uint8_t* codes;
  int groups;
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

}  // namespace detail

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
