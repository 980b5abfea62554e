// SplitMix64 (Steele, Lea and Flood) with random access: a number depends only on its position.
#pragma once

#include <cstdint>

namespace precast::language_model {

/// The increment of the generator's state.
inline constexpr std::uint64_t splitmix64_step = 0x9e3779b97f4a7c15u;

/// The output for a state.
constexpr std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t z = state + splitmix64_step;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace precast::language_model
