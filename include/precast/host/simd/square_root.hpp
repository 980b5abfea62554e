// Square roots of a vector register: the bits of std::sqrt without errno. Without -fno-math-errno, g++ and
// clang++ keep a branch for errno in each value and do not vectorise.
#pragma once

#include <cmath>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/vector_register.hpp>

namespace precast::host::detail {

[[gnu::always_inline]] inline VectorOf<f32>::type square_root(const VectorOf<f32>::type& numbers) {
  using Register = VectorOf<f32>::type;
#if defined(__AVX512F__)
  return reinterpret_cast<Register>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(numbers)));
#elif defined(__AVX2__)
  return reinterpret_cast<Register>(_mm256_sqrt_ps(reinterpret_cast<__m256>(numbers)));
#elif defined(__SSE__)
  return reinterpret_cast<Register>(_mm_sqrt_ps(reinterpret_cast<__m128>(numbers)));
#else
  Register roots;
  for (int i = 0; i < register_bytes / int{sizeof(f32)}; ++i) roots[i] = std::sqrt(numbers[i]);
  return roots;
#endif
}

}  // namespace precast::host::detail
