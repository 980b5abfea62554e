// Aligned blocks of the program's allocator: where they lie, what is refused, and that the heap finds them
// again.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include <catch2/catch.hpp>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {

void* block(std::size_t bytes, std::size_t alignment) {
  return ::operator new (bytes, std::align_val_t{alignment});
}
void free_block(void* given, std::size_t alignment) {
  ::operator delete (given, std::align_val_t{alignment});
}

}  // namespace

TEST_CASE("aligned blocks lie where they should, and what is too large is refused") {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2)
    for (const std::size_t bytes : {0, 1, 63, 64, 1000}) {
      void* const given = block(bytes, alignment);
      CHECK(reinterpret_cast<std::uintptr_t>(given) % alignment == 0);
      free_block(given, alignment);
    }
  volatile std::size_t far_too_large = std::numeric_limits<std::size_t>::max() - 3;
  CHECK(::operator new (far_too_large, std::align_val_t{64}, std::nothrow) == nullptr);
  CHECK_THROWS_AS(block(far_too_large, 64), std::bad_alloc);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("aligned blocks that were freed are taken again by blocks of their size") {
  constexpr std::size_t bytes = 100'000, small = 1000, count = 16;
  const std::size_t before = mallinfo2().arena;
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < count; ++i) {
      blocks.push_back(block(bytes, 64));
      blocks.push_back(block(small, 64));  // between them, so that holes do not join
    }
    for (void* const each : blocks) free_block(each, 64);
  }
  CHECK(mallinfo2().arena - before <= 2 * count * (bytes + small));
}
#endif
