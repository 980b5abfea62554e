// The models of Precast's own families, as templates over the policy. Only kernels/ includes this; the
// families themselves are listed in registry.cpp.
#pragma once

#include <array>
#include <span>

#include <families/backend.hpp>
#include <flux/models_template.hpp>
#include <stable_diffusion/models_template.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>

namespace precast::families {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
std::span<const FamilyModels* const> compiled_models() {
  static const flux::CompiledModels<P> flux;
  static const stable_diffusion::CompiledModels<P> stable_diffusion;
  static const std::array<const FamilyModels*, 2> all{&flux, &stable_diffusion};
  return all;
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
