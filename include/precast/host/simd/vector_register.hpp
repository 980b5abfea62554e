// Compiler vectors (vector_size) of the register width of the target.
#pragma once

namespace precast::host::detail {

/// Bytes of a vector register: GCC splits wider vectors into single values.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// A vector of `lanes` values of T; one register by default.
template <class T, int lanes = register_bytes / static_cast<int>(sizeof(T))>
struct VectorOf {
  using type [[gnu::vector_size(sizeof(T) * lanes)]] = T;
};

}  // namespace precast::host::detail
