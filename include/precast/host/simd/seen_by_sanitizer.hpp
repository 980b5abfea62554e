// Reports memory that assembly accesses to AddressSanitizer, which instruments compiled code only.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/memory/address_sanitizer.hpp>

#if PRECAST_HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace precast::host {

inline constexpr bool has_address_sanitizer = PRECAST_HAS_ADDRESS_SANITIZER;

/// Under AddressSanitizer, stops the program with its report where `rows` rows of `bytes` each, `stride`
/// bytes apart, hold a poisoned byte.
inline void show_to_sanitizer([[maybe_unused]] const void* first, [[maybe_unused]] std::int64_t rows,
                              [[maybe_unused]] std::int64_t bytes, [[maybe_unused]] std::int64_t stride) {
#if PRECAST_HAS_ADDRESS_SANITIZER
  const char* const begin = static_cast<const char*>(first);
  for (std::int64_t r = 0; r < rows; ++r) {
    char* const row = const_cast<char*>(begin + r * stride);
    void* const poisoned = __asan_region_is_poisoned(row, static_cast<std::size_t>(bytes));
    // The read makes AddressSanitizer report it.
    if (poisoned) (void)*static_cast<const volatile char*>(poisoned);
  }
#endif
}

}  // namespace precast::host
