// f16 conversions in vectors of eight, by F16C instructions, with the same bits as convert_value. Not
// compiled by nvcc.
#pragma once

#include <cstdint>
#include <cstring>

#include <precast/dtype/scalar.hpp>

namespace precast::host::detail {

#if defined(__AVX2__) && defined(__F16C__) && !defined(__CUDACC__)

inline constexpr bool has_half_lanes = true;

using Floats8 = f32 __attribute__((vector_size(32)));
using Words8 = std::uint32_t __attribute__((vector_size(32)));
using HalfCodes8 = short __attribute__((vector_size(16)));  // what the instructions take

/// NaN reduced to their sign, as the scalar conversion gives them.
[[gnu::always_inline]] inline Floats8 with_plain_nan(const Floats8& values) {
  const auto words = reinterpret_cast<Words8>(values);
  const auto is_nan = reinterpret_cast<Words8>((words & 0x7fffffffu) > 0x7f800000u);
  return reinterpret_cast<Floats8>((~is_nan & words) | (is_nan & ((words & 0x80000000u) | 0x7fc00000u)));
}

[[gnu::always_inline]] inline Floats8 floats_of_halves(const HalfCodes8& codes) {
  return with_plain_nan(__builtin_ia32_vcvtph2ps256(codes));
}

/// Rounded to the nearest; with `Saturates`, no further than the largest number.
template <bool Saturates>
[[gnu::always_inline]] inline HalfCodes8 halves_of_floats(Floats8 values) {
  values = with_plain_nan(values);
  if constexpr (Saturates) {
    constexpr auto largest = static_cast<f32>(dtype_traits<f16>::format.max());
    values = values > largest ? Floats8{} + largest : values;
    values = values < -largest ? Floats8{} - largest : values;
  }
  constexpr int to_nearest_even = 0;
  return __builtin_ia32_vcvtps2ph256(values, to_nearest_even);
}

[[gnu::always_inline]] inline void convert_eight(const f16* from, f32* to) {
  HalfCodes8 codes;
  std::memcpy(&codes, from, sizeof codes);
  const Floats8 values = floats_of_halves(codes);
  std::memcpy(to, &values, sizeof values);
}
template <bool Saturates>
[[gnu::always_inline]] inline void convert_eight(const f32* from, f16* to) {
  Floats8 values;
  std::memcpy(&values, from, sizeof values);
  const HalfCodes8 codes = halves_of_floats<Saturates>(values);
  std::memcpy(static_cast<void*>(to), &codes, sizeof codes);
}

#else

inline constexpr bool has_half_lanes = false;
void convert_eight(const f16* from, f32* to);  // declared only: never called
template <bool Saturates>
void convert_eight(const f32* from, f16* to);

#endif

}  // namespace precast::host::detail
