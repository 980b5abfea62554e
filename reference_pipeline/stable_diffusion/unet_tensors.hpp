// The tensors of a UNet, from its config alone: names, shapes and number of values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <stable_diffusion/unet.hpp>

#include <precast/tensor/shape.hpp>

namespace precast::stable_diffusion {

/// A tensor as diffusers names it.
struct UNetTensor {
  std::string name;
  Shape shape;
};

/// All tensors of a UNet, in the order in which a prediction first uses them.
std::vector<UNetTensor> unet_tensors(const UNetConfig& config);

/// The number of parameters.
std::int64_t unet_parameters(const UNetConfig& config);

}  // namespace precast::stable_diffusion
