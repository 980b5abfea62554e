// Whether AddressSanitizer is in use: PRECAST_HAS_ADDRESS_SANITIZER for the code being compiled, and
// address_sanitizer_runs() for the process.
#pragma once

#include <cstddef>

// 1 in code compiled with AddressSanitizer, else 0. g++ defines the macro, clang++ has __has_feature.
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

// A symbol of its run-time library: null where that is not linked or loaded.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" __attribute__((weak)) void __asan_poison_memory_region(void const volatile* begin,
                                                                  std::size_t bytes);

namespace precast::detail {

/// Whether this process runs under AddressSanitizer. A program with it may link a library without it, and
/// memory allocated in one may be freed in the other: both must agree on how it was allocated.
inline bool address_sanitizer_runs() { return &__asan_poison_memory_region != nullptr; }

}  // namespace precast::detail
