// random_bytes: blocks of any format with arbitrary contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace precast::testing {

/// Blocks of random bytes: scales that are NaN, infinite or subnormal are among them.
template <class Format>
std::vector<Format> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<Format> blocks(count);
  auto* const bytes = reinterpret_cast<unsigned char*>(blocks.data());
  for (std::size_t i = 0; i < count * sizeof(Format); ++i) bytes[i] = static_cast<unsigned char>(engine());
  return blocks;
}

}  // namespace precast::testing
