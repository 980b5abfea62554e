// Components on the emulated device.
#pragma once

#include <vector>

#include <flux/components.hpp>

#include <precast/policy/choice.hpp>

namespace precast::testing {

/// Components whose kernels run in the emulator, for the policies of `emulated_choices`.
const flux::Components& emulated_components();

/// The policies that this build emulates.
std::vector<PolicyChoice> emulated_choices();

}  // namespace precast::testing
