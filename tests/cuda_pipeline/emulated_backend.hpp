// The emulated device as a backend.
#pragma once

#include <vector>

#include <families/backend.hpp>

#include <precast/policy/choice.hpp>

namespace precast::testing {

/// A backend whose kernels run in the emulator, for the policies of `emulated_choices`.
const families::Backend& emulated_backend();

/// The policies that this build emulates.
std::vector<PolicyChoice> emulated_choices();

}  // namespace precast::testing
