// Lanes: one vector register of f32, and the products of attention's tiles.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/sixteen_lanes.hpp>

namespace precast::host {

#if defined(__AVX512F__)

struct Lanes {
  static constexpr std::int64_t width = 16;
  static constexpr int columns_at_once = 4;  ///< vectors beside each other in a register tile
  __m512 value;

  static Lanes zero() { return {_mm512_setzero_ps()}; }
  static Lanes load(const f32* from) { return {_mm512_loadu_ps(from)}; }
  static Lanes broadcast(f32 x) { return {_mm512_set1_ps(x)}; }
  void store(f32* to) const { _mm512_storeu_ps(to, value); }
  Lanes operator*(Lanes other) const { return {_mm512_mul_ps(value, other.value)}; }
  Lanes operator+(Lanes other) const { return {_mm512_add_ps(value, other.value)}; }
  /// this + a b, rounded once.
  Lanes plus_product(Lanes a, Lanes b) const { return {_mm512_fmadd_ps(a.value, b.value, value)}; }
  /// The maximum; `this` where `x` is NaN. Masked, since GCC 12 warns of an undefined register in the
  /// unmasked form.
  Lanes max(Lanes x) const { return {_mm512_mask_max_ps(value, __mmask16{0xffff}, x.value, value)}; }
};

#elif defined(__AVX2__) && defined(__FMA__)

struct Lanes {
  static constexpr std::int64_t width = 8;
  static constexpr int columns_at_once = 2;
  __m256 value;

  static Lanes zero() { return {_mm256_setzero_ps()}; }
  static Lanes load(const f32* from) { return {_mm256_loadu_ps(from)}; }
  static Lanes broadcast(f32 x) { return {_mm256_set1_ps(x)}; }
  void store(f32* to) const { _mm256_storeu_ps(to, value); }
  Lanes operator*(Lanes other) const { return {_mm256_mul_ps(value, other.value)}; }
  Lanes operator+(Lanes other) const { return {_mm256_add_ps(value, other.value)}; }
  Lanes plus_product(Lanes a, Lanes b) const { return {_mm256_fmadd_ps(a.value, b.value, value)}; }
  Lanes max(Lanes x) const { return {_mm256_max_ps(x.value, value)}; }
};

#else

struct Lanes {
  static constexpr std::int64_t width = 8;
  static constexpr int columns_at_once = 1;
  std::array<f32, width> value;

  template <class F>
  static Lanes each(F&& f) {
    Lanes result;
    for (std::size_t i = 0; i < width; ++i) result.value[i] = f(i);
    return result;
  }
  static Lanes zero() { return broadcast(0); }
  static Lanes load(const f32* from) {
    return each([&](std::size_t i) { return from[i]; });
  }
  static Lanes broadcast(f32 x) {
    return each([&](std::size_t) { return x; });
  }
  void store(f32* to) const { std::memcpy(to, value.data(), sizeof(value)); }
  Lanes operator*(Lanes other) const {
    return each([&](std::size_t i) { return value[i] * other.value[i]; });
  }
  Lanes operator+(Lanes other) const {
    return each([&](std::size_t i) { return value[i] + other.value[i]; });
  }
  Lanes plus_product(Lanes a, Lanes b) const {
    return each([&](std::size_t i) { return std::fma(a.value[i], b.value[i], value[i]); });
  }
  Lanes max(Lanes x) const {
    return each([&](std::size_t i) { return x.value[i] > value[i] ? x.value[i] : value[i]; });
  }
};

#endif

#if defined(__AVX512BF16__) && defined(__AVX512F__)
/// Whether the CPU has an instruction for products of bf16 pairs. It treats subnormal bf16 as zero.
inline constexpr bool has_bf16_products = true;

/// sums + the products of pairs: column i of `pairs` times the pair at `a`, both values of it.
inline Lanes plus_pair_product(Lanes sums, const bf16* a, const bf16* pairs) {
  std::int32_t pair;
  std::memcpy(&pair, a, sizeof(pair));
  const __m512i left = _mm512_set1_epi32(pair), right = _mm512_loadu_si512(pairs);
  return {_mm512_dpbf16_ps(sums.value, reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right))};
}

/// sums + the products of pairs: pair i at `a` times pair i at `b`, both values of them.
inline Lanes plus_pair_products(Lanes sums, const bf16* a, const bf16* b) {
  const __m512i left = _mm512_loadu_si512(a), right = _mm512_loadu_si512(b);
  return {_mm512_dpbf16_ps(sums.value, reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(right))};
}
#else
inline constexpr bool has_bf16_products = false;
#endif

/// Part `part` of sixteen numbers, a Lanes::width of them.
inline Lanes lanes_of(const detail::Floats16& values, int part) {
#if defined(__AVX512F__)
  static_cast<void>(part);
  return {reinterpret_cast<__m512>(values)};
#elif defined(__AVX2__) && defined(__FMA__)
  return {reinterpret_cast<__m256>(values.parts[part])};
#else
  Lanes some;
  std::memcpy(some.value.data(), reinterpret_cast<const f32*>(&values) + part * Lanes::width,
              sizeof some.value);
  return some;
#endif
}

/// The largest lane; NaN lanes may be ignored.
inline f32 largest_lane(Lanes lanes) {
  std::array<f32, Lanes::width> values;
  lanes.store(values.data());
  for (std::size_t half = values.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i)
      values[i] = values[i + half] > values[i] ? values[i + half] : values[i];
  return values[0];
}

inline f32 sum_of_lanes(Lanes lanes) {
  std::array<f32, Lanes::width> values;
  lanes.store(values.data());
  for (std::size_t half = values.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) values[i] += values[i + half];
  return values[0];
}

}  // namespace precast::host
