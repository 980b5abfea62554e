// linspace: equidistant numbers, bit-identical to torch.linspace.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <precast/dtype/scalar.hpp>

namespace precast::sampling {

/// `count` f32 numbers from first to last, computed from both ends towards the middle with fused
/// multiply-adds: bit-identical to torch.linspace on a CPU.
inline std::vector<f32> linspace(f32 first, f32 last, std::int64_t count) {
  if (count == 1) return {first};
  const f32 gap = (last - first) / static_cast<f32>(count - 1);
  std::vector<f32> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(i < count / 2 ? std::fma(gap, static_cast<f32>(i), first)
                                   : std::fma(-gap, static_cast<f32>(count - 1 - i), last));
  return values;
}

}  // namespace precast::sampling
