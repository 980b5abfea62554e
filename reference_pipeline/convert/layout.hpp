// The tensors that an output has, and which rows of the input each is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <convert/output_tensor.hpp>

namespace precast::conversion {

/// How tensors of a Flux transformer are named and put together: by diffusers, or by its authors (BFL), whose
/// names ComfyUI and stable-diffusion.cpp read.
enum class Layout : std::uint8_t { diffusers, bfl };

/// The output's tensors in the order of their names, without types yet. Without a layout, they are the input's
/// own.
std::vector<OutputTensor> arranged(const InputWeights& input, std::optional<Layout> layout);

}  // namespace precast::conversion
