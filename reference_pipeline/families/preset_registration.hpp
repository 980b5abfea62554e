// PresetRegistration: how a program adds a preset, and compiles models for its policy.
#pragma once

#include <string_view>
#include <vector>

#include <families/presets.hpp>
#include <registration/kept_registration.hpp>

#include <precast/backend.hpp>

namespace precast::families {

inline namespace PRECAST_BACKEND {

/// Adds a preset for as long as this lives, in a unit that includes the templates of the models to compile:
///
///   #include <flux/models_template.hpp>
///   const PresetRegistration<MyPolicy, flux::CompiledModels> mine{"mine", "weights in e3m4"};
///
/// All kernels that the models call are compiled in that unit. `--preset auto` never chooses it. If the
/// name is taken, registration::throw_failure() says so: the program's every command ends with that line.
template <PolicyType P, template <PolicyType> class... Models>
class PresetRegistration {
  static_assert(
      ScalarDtype<typename P::storage>,
      "A preset stores weights in a scalar dtype, to which they are rounded as they are loaded: what "
      "a file has in blocks stays so under any policy, and no model has all of its weights in blocks.");

 public:
  PresetRegistration(std::string_view name, std::string_view summary)
      : added_(AddedPreset{name, summary, spelling_of<P>(), op_rows_of<P>(), gradient_table_of<P>(),
                           bytes_of_a_value(), std::vector<FamilyModels>{Models<P>::make()...}}) {}

 private:
  static constexpr double bytes_of_a_value() {
    using Traits = dtype_traits<typename P::storage>;
    return double{Traits::bytes_per_block} / Traits::values_per_block;
  }

  registration::KeptRegistration<PresetAddition> added_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
