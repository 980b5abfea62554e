// Maps a run-time choice to the models that kernels/ compiled for this translation unit's backend: the only
// visit in the pipeline.
#pragma once

#include <span>
#include <string>
#include <type_traits>

#include <families/backend.hpp>
#include <families/presets.hpp>

#include <precast/backend.hpp>
#include <precast/policy/policy.hpp>
#include <precast/policy/visit.hpp>

namespace precast::families {

inline namespace PRECAST_BACKEND {

/// The models of all families under a policy. Instances are compiled in kernels/, one unit a policy.
template <PolicyType P>
std::span<const FamilyModels> compiled_models();

/// The half of a Backend that finds models.
class CompiledBackend : public Backend {
 public:
  std::span<const FamilyModels> models(const PolicyChoice& choice) const override {
    require_policy(choice);
    if (const AddedPreset* const added = added_preset(choice)) {
      if constexpr (std::is_same_v<BackendSpace, HostSpace>) return added->models;
      throw PathNotCompiled("the preset " + std::string(added->name) +
                            " has models for the CPU alone: add --device cpu");
    }
    return visit_policy<std::span<const FamilyModels>>(
        choice, [](auto path) { return compiled_models<typename decltype(path)::policy>(); });
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
