// Aligned blocks that the heap can reuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include <precast/memory/address_sanitizer.hpp>

namespace precast::detail {

/// Memory at a multiple of `alignment`, a power of two of 16 or more; null where there is none. It is a
/// plain block with room to align in, whose own address is in the word before: glibc before 2.38 does not
/// reuse a freed block of its aligned allocations for the next of that size (its bug 14581), so that the
/// heap of a model of many small results grows to twice what it holds.
inline void* aligned_block(std::size_t bytes, std::size_t alignment) noexcept {
  if (address_sanitizer_runs()) {  // it guards the bytes behind a block, where there is no other room
    void* block = nullptr;
    return ::posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
  }
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
  auto* const given = static_cast<std::byte*>(std::malloc(bytes + alignment));
  if (!given) return nullptr;
  std::byte* const aligned = given + (alignment - reinterpret_cast<std::uintptr_t>(given) % alignment);
  reinterpret_cast<void**>(aligned)[-1] = given;
  return aligned;
}

inline void free_aligned_block(void* block) noexcept {
  if (address_sanitizer_runs()) return std::free(block);
  if (block) std::free(reinterpret_cast<void**>(block)[-1]);  // NOLINT(clang-analyzer-unix.Malloc)
}

}  // namespace precast::detail
