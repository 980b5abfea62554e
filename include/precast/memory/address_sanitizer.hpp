// PRECAST_HAS_ADDRESS_SANITIZER: 1 in what is compiled with AddressSanitizer, else 0.
#pragma once

// g++ defines the one, clang++ answers the other.
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
