// Division of the indices that kernels split into coordinates.
#pragma once

#include <bit>
#include <cstdint>

#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

/// index = quotient by + rest.
struct DividedIndex {
  std::int64_t quotient, rest;
};

/// Divides an index that is not negative; in 32 bits, which takes a fifth of the instructions, where both
/// fit.
PRECAST_DEVICE DividedIndex divide_index(std::int64_t index, std::int64_t by) {
  if (((index | by) >> 32) == 0) {
    const auto i = static_cast<std::uint32_t>(index), d = static_cast<std::uint32_t>(by);
    const std::uint32_t quotient = i / d;
    return {quotient, i - quotient * d};
  }
  const std::int64_t quotient = index / by;
  return {quotient, index - quotient * by};
}

/// A divisor that is known before a kernel starts: an index below 2^31 is divided by a multiplication and a
/// shift (Granlund and Montgomery 1994).
class Divisor {
 public:
  /// By 1.
  Divisor() = default;
  /// A divisor of 1 or more. 0 is kept for value(), but nothing may be divided by it.
  constexpr Divisor(std::int64_t by) : by_(by) {
    if (by < 1 || by >> 31) {  // a shift by 31 alone gives quotient 0
      multiplier_ = 0;
      shift_ = 31;
      return;
    }
    shift_ = std::bit_width(static_cast<std::uint32_t>(by - 1));
    multiplier_ = static_cast<std::uint32_t>(
        (std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift_) - static_cast<std::uint64_t>(by)) /
            static_cast<std::uint64_t>(by) +
        1);
  }

  PRECAST_HOST_DEVICE_CONSTEXPR std::int64_t value() const { return by_; }
  PRECAST_DEVICE DividedIndex divide(std::int64_t index) const {
    if ((index >> 31) == 0) {
      const auto i = static_cast<std::uint32_t>(index);
      const auto high = static_cast<std::uint32_t>((std::uint64_t{multiplier_} * i) >> 32);
      const std::uint32_t quotient = (high + i) >> shift_;
      return {quotient, i - quotient * static_cast<std::uint32_t>(by_)};
    }
    const std::int64_t quotient = index / by_;
    return {quotient, index - quotient * by_};
  }

 private:
  std::int64_t by_ = 1;
  std::uint32_t multiplier_ = 1;
  int shift_ = 0;
};

}  // namespace precast::gpu
