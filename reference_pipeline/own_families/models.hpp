// The models of Precast's own families, as templates over the policy. Only kernels/ includes this; the
// families themselves are listed in families.cpp.
#pragma once

#include <array>
#include <span>

#include <families/backend.hpp>
#include <flux/models_template.hpp>
#include <stable_diffusion/models_template.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>
#include <precast/policy/policy_path.hpp>

namespace precast::families {

inline namespace PRECAST_BACKEND {

/// For a path with Upcast<Conv>, components without convolutions are of the path without it, also built.
template <PolicyType P>
std::span<const FamilyModels> compiled_models() {
  if constexpr (P::template upcasts<Conv>) {
    const std::span<const FamilyModels> others = compiled_models<WithoutUpcastConv<P>>();
    static const std::array<FamilyModels, 2> all{
        flux::CompiledModels<P>::with_upcast_conv(*models_among<flux::Models>(others)),
        stable_diffusion::CompiledModels<P>::with_upcast_conv(
            *models_among<stable_diffusion::Models>(others))};
    return all;
  } else {
    static const std::array<FamilyModels, 2> all{flux::CompiledModels<P>::make(),
                                                 stable_diffusion::CompiledModels<P>::make()};
    return all;
  }
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
