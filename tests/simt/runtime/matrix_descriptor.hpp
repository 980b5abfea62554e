// Where the values of a matrix lie that wgmma reads from shared memory.
#pragma once

#include <array>
#include <cstdint>

#include <simt/tma_load.hpp>

namespace simt::runtime {

/// A matrix descriptor: bits 0-13 the address, 16-29 and 32-45 the offsets, all without their last 4 bits,
/// 49-51 the base offset, 62-63 the permutation.
struct Descriptor {
  std::uint32_t address, leading, stride, base_offset;
  Swizzle swizzle;

  explicit Descriptor(std::uint64_t bits)
      : address(field(bits)),
        leading(field(bits >> 16)),
        stride(field(bits >> 32)),
        base_offset(bits >> 49 & 7),
        swizzle(std::array{Swizzle::none, Swizzle::of_128_bytes, Swizzle::of_64_bytes,
                           Swizzle::of_32_bytes}[bits >> 62]) {}
  static std::uint32_t field(std::uint64_t bits) { return static_cast<std::uint32_t>(bits & 0x3fff) << 4; }

  /// Where a value lies, by the canonical layouts of the PTX ISA: eight rows of 16 bytes each without
  /// permutation, else rows of 32, 64 or 128 bytes. `outer` is the row of A or column of B, `inner` the
  /// depth; `across`: rows lie across the depth.
  std::uint32_t place_of(bool across, std::uint32_t outer, std::uint32_t inner) const {
    if (swizzle == Swizzle::none)
      return across ? address + outer / 8 * stride + inner / 8 * leading + inner % 8 * 16 + outer % 8 * 2
                    : address + outer / 8 * stride + inner / 8 * leading + outer % 8 * 16 + inner % 8 * 2;
    const std::uint32_t row = row_bytes(), values = row / 2;
    return swizzled(swizzle, across ? address + outer / values * leading + inner / 8 * stride +
                                          inner % 8 * row + outer % values * 2
                                    : address + outer / 8 * stride + outer % 8 * row + inner * 2);
  }
  std::uint32_t row_bytes() const { return 16u << static_cast<int>(swizzle); }
  /// Whether permutation starts anew at the matrix, as it must while the base offset is 0.
  bool starts_a_pattern() const {
    return swizzle == Swizzle::none || (address & (8 * row_bytes() - 1) & ~(row_bytes() - 1)) == 0;
  }
};

}  // namespace simt::runtime
