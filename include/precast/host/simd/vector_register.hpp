// Vectors as compilers have them (vector_size), as wide as a register of what is compiled for.
#pragma once

namespace precast::host::detail {

/// Bytes of a vector register: GCC takes wider vectors apart, value by value.
#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// So many T: as many as a register holds, unless a number is given.
template <class T, int lanes = register_bytes / static_cast<int>(sizeof(T))>
struct VectorOf {
  using type [[gnu::vector_size(sizeof(T) * lanes)]] = T;
};

}  // namespace precast::host::detail
