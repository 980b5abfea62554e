// The tensors of a component that no module reads: those beyond the model that its config describes.
#pragma once

#include <string>
#include <vector>

#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/unet.hpp>
#include <text/clip_text_model.hpp>
#include <vae/autoencoder.hpp>

namespace precast::stable_diffusion {

/// Their stored names, including those of blocks that the config does not have.
std::vector<std::string> unread_tensors(const ComponentWeights& weights, const UNetConfig& config);
std::vector<std::string> unread_tensors(const ComponentWeights& weights, const text::ClipConfig& config);
std::vector<std::string> unread_tensors(const ComponentWeights& weights,
                                        const vae::AutoencoderConfig& config);

}  // namespace precast::stable_diffusion
