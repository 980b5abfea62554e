// Products whose sums are kept in a format narrower than f32: every addition rounds to it. Right, and slow.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include <precast/dtype/scalar.hpp>
#include <precast/host/convert.hpp>

namespace precast::host {

/// sum + product, rounded once to T, as f32. `sum` is a T and `product` is exact in f32: the f32 sum is
/// rounded to odd (Boldo and Melquiond 2008), so that rounding it again to T is as good as rounding the real
/// sum.
template <ScalarDtype T>
inline f32 add_rounded(f32 sum, f32 product) {
  const f32 nearest = sum + product;
  const f32 of_product = nearest - sum;
  const f32 rest = (sum - (nearest - of_product)) + (product - of_product);
  const auto code = std::bit_cast<std::int32_t>(nearest);
  const bool inexact = rest != 0 && std::fabs(nearest) <= 3.40282347e38f;  // false for NaN
  const std::int32_t step = ((rest > 0) == (nearest > 0)) ? 1 : -1;
  const f32 odd = std::bit_cast<f32>(inexact && (code & 1) == 0 ? code + step : code);
  return convert_value<f32, false>(convert_value<T, false>(odd));
}

/// sums[f] = x . weights[f], added up one by one in order with each sum rounded to Accumulate. x and weights
/// are f32 operands; weights lie transposed, [columns, features].
template <ScalarDtype Accumulate>
void rounded_sums(const f32* x, const f32* weights, std::int64_t columns, std::int64_t features, f32* sums) {
  std::fill_n(sums, features, 0.0f);
  for (std::int64_t k = 0; k < columns; ++k) {
    const f32 value = x[k];
    const f32* const row = weights + k * features;
    for (std::int64_t f = 0; f < features; ++f) sums[f] = add_rounded<Accumulate>(sums[f], value * row[f]);
  }
}

}  // namespace precast::host
