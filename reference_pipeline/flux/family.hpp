// Flux's entry in the registry of families.
#pragma once

#include <families/family.hpp>

namespace precast::flux {

const families::Family& family();

}  // namespace precast::flux
