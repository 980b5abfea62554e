// The configs of components that are files: sizes from their tensors, everything else as in the published
// models of their kind.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>
#include <sampling/scheduler_config.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/unet.hpp>
#include <text/clip_text_model.hpp>
#include <vae/autoencoder.hpp>

namespace precast::stable_diffusion {

/// Each throws InputError if tensors are missing or not such a component's, or if their use is unknown: a
/// UNet of an unpublished width may have any number of heads. `weights` are a single file's for a UNet, and
/// any file's for other components; `kind` is the model's.
UNetConfig unet_config(const ComponentWeights& weights);
vae::AutoencoderConfig autoencoder_config(const ComponentWeights& weights, Kind kind);
text::ClipConfig clip_config(const ComponentWeights& weights, Kind kind);
/// The keys of a scheduler_config.json. If no tensor determines the prediction type, it is epsilon, but v
/// for 2.x without inpainting, as in 2.1 at 768 pixels; 2.1-base needs a folder with its config.
nlohmann::json scheduler_config(const WeightFile& file);
/// The side, in latents, of the pictures that the published models of this kind were trained on.
std::int64_t sample_size(Kind kind, sampling::PredictionType prediction);

/// Throws InputError if a file's tensors contradict the config in `config_file`.
void check_agreement(const ComponentWeights& weights, const UNetConfig& config,
                     const std::filesystem::path& config_file);
void check_agreement(const ComponentWeights& weights, const vae::AutoencoderConfig& config,
                     const std::filesystem::path& config_file);
void check_agreement(const ComponentWeights& weights, const text::ClipConfig& config,
                     const std::filesystem::path& config_file);

}  // namespace precast::stable_diffusion
