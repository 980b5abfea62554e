// Stable Diffusion's entry in the registry of families.
#pragma once

#include <families/family.hpp>

namespace precast::stable_diffusion {

const families::Family& family();

}  // namespace precast::stable_diffusion
