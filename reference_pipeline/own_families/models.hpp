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

/// Of a path with Upcast<Conv>, what has no convolutions is the path's without it, which the build holds too.
template <PolicyType P>
std::span<const FamilyModels* const> compiled_models() {
  if constexpr (P::template upcasts<Conv>) {
    const std::span<const FamilyModels* const> others = compiled_models<WithoutUpcastConv<P>>();
    static const flux::ConvUpcastModels<P> flux(*models_among<flux::Models>(others));
    static const stable_diffusion::ConvUpcastModels<P> stable_diffusion(
        *models_among<stable_diffusion::Models>(others));
    static const std::array<const FamilyModels*, 2> all{&flux, &stable_diffusion};
    return all;
  } else {
    static const flux::CompiledModels<P> flux;
    static const stable_diffusion::CompiledModels<P> stable_diffusion;
    static const std::array<const FamilyModels*, 2> all{&flux, &stable_diffusion};
    return all;
  }
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
