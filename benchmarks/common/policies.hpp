// The policies that are measured, and the names that benchmarks and docs/benchmarks.md give them.
#pragma once

#include <type_traits>

#include <precast/policy/policy.hpp>
#include <precast/policy/presets.hpp>

namespace precast::bench {

using F32 = presets::Balanced;
using Bf16 = presets::Fast;
using F16 = presets::Memory;
using F16Flash = Policy<Storage<f16>, Flash>;
using Bf16Plain = Policy<Storage<bf16>>;
using Tf32 = Policy<Storage<f32>, Compute<tf32>, Flash>;
using Bf16InF32 = Policy<Storage<bf16>, Compute<f32>>;
using Bf16FlashInF32 = Policy<Storage<bf16>, Upcast<Attention>, Flash>;
using F16FlashInF32 = Policy<Storage<f16>, Upcast<Attention>, Flash>;

template <PolicyType P>
inline constexpr const char* name_of = std::is_same_v<P, F32>              ? "f32"
                                       : std::is_same_v<P, Bf16>           ? "bf16"
                                       : std::is_same_v<P, F16>            ? "f16"
                                       : std::is_same_v<P, F16Flash>       ? "f16_flash"
                                       : std::is_same_v<P, Bf16Plain>      ? "bf16_plain"
                                       : std::is_same_v<P, Bf16InF32>      ? "bf16_in_f32"
                                       : std::is_same_v<P, Bf16FlashInF32> ? "bf16_in_f32_flash"
                                       : std::is_same_v<P, F16FlashInF32>  ? "f16_in_f32_flash"
                                                                           : "tf32";

/// Calls `visit` with a null pointer to each policy: every op tells them apart, or (attention aside) flash
/// does not. bf16_plain, tf32 and those in f32 are a device's.
template <class Visit>
void for_each_policy(Visit&& visit, bool with_flash = true) {
  visit(static_cast<F32*>(nullptr));
  visit(static_cast<Bf16*>(nullptr));
  visit(static_cast<F16*>(nullptr));
  if (with_flash) visit(static_cast<F16Flash*>(nullptr));
}

}  // namespace precast::bench
