// Matrices in shared memory, as the tests of wgmma lay them out.
#pragma once

#include <algorithm>

#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/wgmma.hpp>

namespace precast::testing {

using gpu::SmemDescriptor, gpu::SharedPointer, gpu::Swizzle;

inline constexpr int depth = 16, threads = 128, tile = 64 * 64;

/// How a matrix of `outer` rows (of A, or columns of B) lies in shared memory: the PTX ISA's canonical
/// layouts, told in bytes.
struct Layout {
  Swizzle swizzle;
  bool across;  ///< rows lie across the depth
  int outer;

  /// Values of a row.
  int row() const { return gpu::swizzle_bytes(swizzle) / 2; }
  /// The place of value (o, k), permuted, from a start on a multiple of 1024 bytes.
  int place(int o, int k) const {
    const int along = across ? o : k, beside = across ? k : o;
    const int rows = across ? depth : outer;
    if (swizzle == Swizzle::none)  // blocks of eight rows of 16 bytes, side by side and then below each other
      return across ? (o / 8 * (depth / 8) + k / 8) * 128 + k % 8 * 16 + o % 8 * 2
                    : (o / 8 * (depth / 8) + k / 8) * 128 + o % 8 * 16 + k % 8 * 2;
    const int bytes = (along / row() * rows + beside) * row() * 2 + along % row() * 2;
    const int turn = swizzle == Swizzle::of_32_bytes ? 1 : swizzle == Swizzle::of_64_bytes ? 3 : 7;
    return bytes ^ (bytes / 128 & turn) * 16;
  }
  int leading() const {
    if (swizzle == Swizzle::none) return 128;
    return across ? depth * row() * 2 : 16;
  }
  int stride() const { return swizzle == Swizzle::none ? depth / 8 * 128 : 8 * row() * 2; }
  /// Bytes of the matrix: what 64 values of depth take, where a row is longer than the depth.
  int bytes() const {
    return across ? depth * std::max(outer, row()) * 2 : outer * std::max(depth, row()) * 2;
  }
};

/// A tile of 64 x 64 values, swizzled rows of 128 bytes along the depth, from a multiple of 1024 bytes on.
inline SharedPointer<bf16> tile_at(int number) {
  return gpu::dynamic_shared<bf16>(gpu::padding_to<1024>() + static_cast<std::size_t>(number * tile * 2),
                                   tile);
}
inline SmemDescriptor matrix_at(int number, int step) {
  return gpu::smem_descriptor(shared_address(tile_at(number)) + static_cast<std::uint32_t>(step * 32),
                              Swizzle::of_128_bytes, 0, 1024);
}
inline constexpr std::size_t tiles_bytes = 1024 + 2 * tile * 2;

}  // namespace precast::testing
