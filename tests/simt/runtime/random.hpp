// Random numbers of the schedule: splitmix64 (Steele, Lea and Flood 2014).
#pragma once

#include <bit>
#include <cstdint>

namespace simt::runtime {

class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to `count` - 1.
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  /// The number of a set bit; not every one is as likely, which the schedule does not need.
  int bit_of(std::uint32_t mask) {
    const int turn = static_cast<int>(next() >> 59);
    return (std::countr_zero(std::rotr(mask, turn)) + turn) % 32;
  }

 private:
  std::uint64_t state_;
};

}  // namespace simt::runtime
