// Whether AddressSanitizer is there: PRECAST_HAS_ADDRESS_SANITIZER says it of what is compiled, and
// address_sanitizer_runs() of the process.
#pragma once

#include <cstddef>

// 1 in what is compiled with AddressSanitizer, else 0. g++ defines the one, clang++ answers the other.
#if defined(__SANITIZE_ADDRESS__)
#define PRECAST_HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PRECAST_HAS_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(PRECAST_HAS_ADDRESS_SANITIZER)
#define PRECAST_HAS_ADDRESS_SANITIZER 0
#endif

// Of its run-time library: null where that is not linked or loaded.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" __attribute__((weak)) void __asan_poison_memory_region(void const volatile* begin,
                                                                  std::size_t bytes);

namespace precast::detail {

/// Whether this process runs under AddressSanitizer. A program with it may be linked with a library without
/// it, and memory that one takes goes back in the other: both must think alike of how it was taken.
inline bool address_sanitizer_runs() { return &__asan_poison_memory_region != nullptr; }

}  // namespace precast::detail
