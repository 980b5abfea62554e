// The configs of components that are files: sizes as their tensors have them, and the rest as the published
// models of their kind do.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>
#include <sampling/scheduler_config.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/unet.hpp>
#include <text/clip_text_model.hpp>
#include <vae/autoencoder.hpp>

namespace precast::stable_diffusion {

/// Each throws InputError where tensors lack or are not of such a component, or where nothing says how they
/// are used: a UNet of another width than the published ones may have any number of heads. `weights` of a
/// UNet are a single file's, those of others any file's; `kind` is the model's.
UNetConfig unet_config(const ComponentWeights& weights);
vae::AutoencoderConfig autoencoder_config(const ComponentWeights& weights, Kind kind);
text::ClipConfig clip_config(const ComponentWeights& weights, Kind kind);
/// The keys of a scheduler_config.json. Where no tensor says what the UNet predicts, it is the noise but for
/// 2.x that fills nothing in: v, as 2.1 does at 768 pixels; 2.1-base needs a folder that says otherwise.
nlohmann::json scheduler_config(const WeightFile& file);
/// Latents along a side of the pictures that the published models of its kind were trained on.
std::int64_t sample_size(Kind kind, sampling::PredictionType prediction);

/// Throws InputError where a file's tensors and the config in `config_file` are not of one model.
void check_agreement(const ComponentWeights& weights, const UNetConfig& config,
                     const std::filesystem::path& config_file);
void check_agreement(const ComponentWeights& weights, const vae::AutoencoderConfig& config,
                     const std::filesystem::path& config_file);
void check_agreement(const ComponentWeights& weights, const text::ClipConfig& config,
                     const std::filesystem::path& config_file);

}  // namespace precast::stable_diffusion
