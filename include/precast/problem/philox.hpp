// Philox 4x32-10 (Salmon et al. 2011): random numbers as a function of a counter and a key, so that any of
// them can be made at any time, on any backend.
#pragma once

#include <cstdint>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

/// Four words of 32 random bits.
struct PhiloxWords {
  std::uint32_t words[4];
};

/// The words of a counter of 128 bits under a key of 64 bits.
PRECAST_HOST_DEVICE PhiloxWords philox(std::uint64_t counter_low, std::uint64_t counter_high,
                                       std::uint64_t key) {
  auto c0 = static_cast<std::uint32_t>(counter_low), c1 = static_cast<std::uint32_t>(counter_low >> 32);
  auto c2 = static_cast<std::uint32_t>(counter_high), c3 = static_cast<std::uint32_t>(counter_high >> 32);
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53u} * c0, right = std::uint64_t{0xCD9E8D57u} * c2;
    const auto next0 = static_cast<std::uint32_t>(right >> 32) ^ c1 ^ k0;
    const auto next2 = static_cast<std::uint32_t>(left >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(right);
    c3 = static_cast<std::uint32_t>(left);
    c0 = next0;
    c2 = next2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Which values dropout drops, and what it multiplies the others by.
struct DropoutMask {
  std::uint64_t seed, offset;
  std::uint64_t dropped_below;  ///< of 2^32
  f32 factor;

  DropoutMask() = default;
  DropoutMask(f32 probability, std::uint64_t seed_of_run, std::uint64_t offset_of_call)
      : seed(seed_of_run),
        offset(offset_of_call),
        dropped_below(static_cast<std::uint64_t>(static_cast<double>(probability) * 4294967296.0)),
        factor(static_cast<f32>(1.0 / (1.0 - static_cast<double>(probability)))) {}

  /// The random words of values 4i to 4i + 3.
  PRECAST_HOST_DEVICE PhiloxWords words(std::int64_t four) const {
    return philox(static_cast<std::uint64_t>(four), offset, seed);
  }
  /// What the value with this word is multiplied by.
  PRECAST_HOST_DEVICE f32 factor_of(std::uint32_t word) const { return word < dropped_below ? 0.0f : factor; }
};

}  // namespace precast
