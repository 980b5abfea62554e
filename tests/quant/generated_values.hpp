// The inputs behind the hashes of expected/block_formats.safetensors, as make_block_formats.py makes them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <precast/dtype/scalar.hpp>

namespace precast::testing {

/// Word `index` of SplitMix64 (Steele, Lea, Flood 2014).
inline std::uint64_t splitmix(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// `count` values, 256 of a kind at a time: near zero, at 24 scales, ties, over 64 octaves, outliers among
/// zeros, of one sign, all but equal. Each is an f32 exactly.
inline std::vector<f32> generated_values(std::size_t count) {
  constexpr std::uint64_t encode_seed = 1, scale_seed = 2;
  std::vector<f32> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = splitmix(encode_seed, i);
    std::int64_t bell = -2 * 65535;
    for (int shift = 0; shift < 64; shift += 16) bell += static_cast<std::int64_t>(word >> shift & 0xffff);
    const auto wide_bell = static_cast<double>(bell);
    const int power = static_cast<int>(splitmix(scale_seed, i / 256) % 24) - 40;
    double value = 0;
    switch (i / 256 % 8) {
      case 0:
        value = std::ldexp(wide_bell, -22);
        break;
      case 1:
        value = std::ldexp(wide_bell, power);
        break;
      case 2:
        value = (static_cast<int>(word >> 58) - 32) / 8.0;
        break;
      case 3:
        value = std::ldexp(1 + static_cast<double>(word & 0x7fffff) * 0x1p-23,
                           static_cast<int>(word >> 23 & 63) - 40);
        if (word >> 63) value = -value;
        break;
      case 4:
        value = word % 64 == 0 ? wide_bell : 0;
        break;
      case 5:
        value = std::ldexp(std::abs(wide_bell), -22);
        break;
      case 6:
        value = std::ldexp(-(std::abs(wide_bell) + 65536), power);
        break;
      default:
        value = std::ldexp(static_cast<double>(bell >> 6) + 0x1p20, -20);
    }
    values[i] = static_cast<f32>(value);
  }
  return values;
}

/// 64-bit FNV-1a over little-endian words of 32 bits, the last one filled with zeros, in hexadecimal.
inline std::string hash_of_words(std::span<const std::byte> bytes) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (std::size_t at = 0; at < bytes.size(); at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(4, bytes.size() - at));
    value = (value ^ word) * 0x100000001b3u;
  }
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
  return text;
}

}  // namespace precast::testing
