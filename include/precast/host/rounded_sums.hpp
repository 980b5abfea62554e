// Products whose sums are kept in a format narrower than f32: every addition rounds to it. Right, and slow.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::host {

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
