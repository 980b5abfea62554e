// The tensors that an output has, and which rows of the input each is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <convert/output_tensor.hpp>

namespace precast::conversion {

/// Who names a model's tensors, and so which matrices are one: diffusers and transformers; or the authors of
/// Flux (BFL), whose names ComfyUI and stable-diffusion.cpp read, and beside them ggml's names of a T5
/// encoder.
enum class Layout : std::uint8_t { diffusers, bfl };

/// The layout that a file has if nobody says otherwise: that of others' readers for GGUF.
constexpr std::optional<Layout> usual_layout(Container container) {
  return container == Container::gguf ? std::optional(Layout::bfl) : std::nullopt;
}

/// Whether weights have other names in each layout.
bool has_two_layouts(const InputWeights& input);

/// Diffusers' and transformers' names of a tensor in either layout, without the prefix that a file of several
/// parts has before them: several names where it is several of their matrices, and none where they have no
/// name for it. `unet_layers` is needed for a UNet in its authors' names.
std::vector<std::string> diffusers_names(WeightsKind kind, std::string_view name,
                                         std::int64_t unet_layers = 0);

/// Residual blocks of each level on the way down in a UNet in its authors' names, by which they are numbered.
std::int64_t unet_layers(const InputWeights& input);

/// The output's tensors in the order of their names, without types yet. Without a layout, and for weights
/// that have one name only, they are the input's own. Throws InputError where rows cannot be divided, or
/// where a part of a tensor is missing.
std::vector<OutputTensor> arranged(const InputWeights& input, WeightsKind kind, std::optional<Layout> layout);

}  // namespace precast::conversion
