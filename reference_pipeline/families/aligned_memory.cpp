// Aligned blocks of the allocator, such as tensors under 1 MiB lie in, where the C library's own lose memory:
// before glibc 2.38 a free aligned block is too small for the next of its size (glibc's bug 14581), so that
// the heap of a model of many small results grows to twice what it holds. Plain blocks with room to align in
// are found again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if !__GLIBC_PREREQ(2, 38)

namespace {

/// Null where there is no memory. The block that the allocator gave is remembered in the word before.
void* aligned_block(std::size_t bytes, std::align_val_t alignment) noexcept {
  constexpr std::size_t least = 16;  // the allocator's own, and room for the word
  const std::size_t room = std::max(least, static_cast<std::size_t>(alignment));
  if (bytes > std::numeric_limits<std::size_t>::max() - room) return nullptr;
  auto* const given = static_cast<std::byte*>(std::malloc(bytes + room));
  if (!given) return nullptr;
  std::byte* const aligned = given + (room - reinterpret_cast<std::uintptr_t>(given) % room);
  reinterpret_cast<void**>(aligned)[-1] = given;
  return aligned;
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  while (true) {
    if (void* const block = aligned_block(bytes, alignment)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return ::operator new(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
  if (block) std::free(reinterpret_cast<void**>(block)[-1]);
}

void operator delete(void* block, std::size_t /*bytes*/, std::align_val_t alignment) noexcept {
  ::operator delete(block, alignment);
}

void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t& /*tag*/) noexcept {
  ::operator delete(block, alignment);
}

#endif
#endif
