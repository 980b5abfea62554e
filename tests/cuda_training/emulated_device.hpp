// The emulated device, to train on.
#pragma once

#include <language_model/training_device.hpp>

namespace precast::testing {

/// A device whose kernels run in the emulator, with the policies that tests/cuda_training compiles for it.
language_model::TrainingDevice emulated_training_device();

}  // namespace precast::testing
