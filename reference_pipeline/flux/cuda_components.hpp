// Components on a CUDA device. Only builds with CUDA have them.
#pragma once

#include <flux/device.hpp>

namespace precast::flux {

/// The components of a device by its number, or, without components, the reason why it cannot be used.
ChosenDevice find_cuda_components(int number);

}  // namespace precast::flux
