// Which tensors a UNet has, from its config alone: their names, shapes and number of values.
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

/// All tensors of a UNet, those that a prediction meets first before others.
std::vector<UNetTensor> unet_tensors(const UNetConfig& config);

/// The number of values of all of them.
std::int64_t unet_parameters(const UNetConfig& config);

}  // namespace precast::stable_diffusion
