// Copies of boxes of a tensor to shared memory by the device's TMA.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <simt/mbarrier.hpp>
#include <simt/pointer.hpp>

namespace simt {

/// How the 16-byte chunks of a box are permuted in shared memory.
enum class Swizzle { none, of_32_bytes, of_64_bytes, of_128_bytes };

/// The address of a chunk after permutation: bits of the address itself, so that it matters on which multiple
/// of 8 rows a box lies.
constexpr std::uint32_t swizzled(Swizzle swizzle, std::uint32_t address) {
  const std::uint32_t row = address >> 7;
  switch (swizzle) {
    case Swizzle::none:
      break;
    case Swizzle::of_32_bytes:
      return address ^ (row & 1) << 4;
    case Swizzle::of_64_bytes:
      return address ^ (row & 3) << 4;
    case Swizzle::of_128_bytes:
      return address ^ (row & 7) << 4;
  }
  return address;
}

/// A tensor of four dimensions in global memory, the first of them contiguous, and the boxes that are copied
/// from it.
struct TensorMap {
  const std::byte* data = nullptr;
  std::size_t value_bytes = 0;
  std::array<std::int64_t, 4> sizes{};    ///< in values
  std::array<std::int64_t, 3> strides{};  ///< in bytes, of the dimensions after the first
  std::array<int, 4> box{};               ///< in values
  Swizzle swizzle{};

  int box_bytes() const { return box[0] * box[1] * box[2] * box[3] * static_cast<int>(value_bytes); }
};

namespace detail {
void tma_load(const TensorMap& from, const std::array<int, 4>& at, const void* to, const void* barrier);
}

/// Starts to copy the box whose first value is at `at`; what lies outside of the tensor becomes zeros. The
/// barrier is told of all bytes of the box when they have landed.
template <class T, class Barrier>
void copy_tensor_box(Pointer<T, Space::shared> to, const TensorMap& from, const std::array<int, 4>& at,
                     Pointer<Barrier, Space::shared> barrier) {
  detail::tma_load(from, at, Pointer<const T, Space::shared>(to).checked_bytes(from.box_bytes(), 128),
                   detail::mbarrier_at(barrier));
}

}  // namespace simt
