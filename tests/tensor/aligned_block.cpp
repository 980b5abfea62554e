// Aligned blocks: where they lie, what is refused, and that the heap finds them again.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/memory/address_sanitizer.hpp>
#include <precast/memory/aligned_block.hpp>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

using precast::detail::aligned_block;
using precast::detail::free_aligned_block;

TEST_CASE("aligned blocks lie where they should, and what is too large is refused") {
  for (std::size_t alignment = 16; alignment <= 4096; alignment *= 2)
    for (const std::size_t bytes : {0, 1, 63, 64, 1000}) {
      void* const given = aligned_block(bytes, alignment);
      CHECK(reinterpret_cast<std::uintptr_t>(given) % alignment == 0);
      free_aligned_block(given);
    }
#if !PRECAST_HAS_ADDRESS_SANITIZER  // which ends a program that asks for so much
  volatile std::size_t far_too_large = std::numeric_limits<std::size_t>::max() - 3;
  CHECK(aligned_block(far_too_large, 64) == nullptr);
#endif
}

#if defined(__GLIBC__) && !PRECAST_HAS_ADDRESS_SANITIZER && !defined(__SANITIZE_THREAD__)
TEST_CASE("aligned blocks that were freed are taken again by blocks of their size") {
  constexpr std::size_t bytes = 100'000, small = 1000, count = 16;
  const std::size_t before = mallinfo2().arena;
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; ++i) {
      blocks.push_back(aligned_block(bytes, 64));
      blocks.push_back(aligned_block(small, 64));  // between them, so that holes do not join
    }
    for (void* const each : blocks) free_aligned_block(each);
  }
  CHECK(mallinfo2().arena - before <= 2 * count * (bytes + small));
}
#endif
