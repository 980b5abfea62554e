// Copies from global to shared memory that land at once or at the wait that covers them, as Options::copies
// says.
#pragma once

#include <cstddef>
#include <type_traits>

#include <simt/pointer.hpp>
#include <simt/site.hpp>

namespace simt {

namespace detail {
void start_copy(void* to, const void* from, int bytes, int valid);
void check_valid_bytes(int bytes, int valid);
void cp_async_wait(int groups, Site site);
}  // namespace detail

// Not inlined, either of them: ThreadSanitizer then names the line of the kernel where a copy landed.

/// Both sides must lie on a multiple of Bytes; of `valid` bytes are read, and the source must be a position
/// inside its array even where that is 0.
template <int Bytes, class T>
[[gnu::noinline]] void cp_async(Pointer<T, Space::shared> to,
                                std::type_identity_t<Pointer<const T, Space::global>> from,
                                int valid = Bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp_async: 4, 8 or 16 bytes at a time.");
  detail::check_valid_bytes(Bytes, valid);
  const void* source = from.checked_bytes(valid > 0 ? valid : 1, Bytes);
  detail::start_copy(to.checked_bytes(Bytes, Bytes), source, Bytes, valid);
}

void cp_async_commit(Site site = Site::here());

template <int Groups>
[[gnu::noinline]] void cp_async_wait(Site site = Site::here()) {
  static_assert(Groups >= 0);
  detail::cp_async_wait(Groups, site);
}

}  // namespace simt
