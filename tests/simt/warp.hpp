// Exchanges among the lanes of a warp.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <simt/site.hpp>

namespace simt {

namespace detail {
/// All lanes meet with a word each; `lane` is which one's word each receives (its own where there is no such
/// lane).
std::uint32_t exchange(Kind kind, std::uint32_t word, int lane, Site site);
int lane_of(Kind kind, int argument);

template <class T>
T exchange_value(Kind kind, T value, int argument, Site site) {
  static_assert(sizeof(T) == 4 && std::is_trivially_copyable_v<T>, "A shuffle moves values of 4 bytes.");
  return std::bit_cast<T>(exchange(kind, std::bit_cast<std::uint32_t>(value), lane_of(kind, argument), site));
}
}  // namespace detail

template <class T>
T shuffle(T value, int from_lane, Site site = Site::here()) {
  return detail::exchange_value(Kind::shuffle, value, from_lane, site);
}
template <class T>
T shuffle_xor(T value, int lane_bits, Site site = Site::here()) {
  return detail::exchange_value(Kind::shuffle_xor, value, lane_bits, site);
}
template <class T>
T shuffle_down(T value, int distance, Site site = Site::here()) {
  return detail::exchange_value(Kind::shuffle_down, value, distance, site);
}
std::uint32_t warp_ballot(bool value, Site site = Site::here());

}  // namespace simt
