// Adds a preset, and compiles Flux's models for its policy: all kernels of that policy are compiled here.
#include <families/preset_registration.hpp>
#include <flux/models_template.hpp>

#include "e3m4.hpp"

namespace {

// [preset]
using namespace precast;

/// Weights rest in e3m4, are multiplied in bf16, and no score matrix reaches memory.
using Small = Policy<Storage<extend::e3m4>, Compute<bf16>, Flash>;

const families::PresetRegistration<Small, flux::CompiledModels> small_is_a_preset{
    "small", "weights in e3m4, products in bf16, flash attention"};
// [preset]

}  // namespace
