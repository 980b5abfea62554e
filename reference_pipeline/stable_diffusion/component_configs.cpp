// Reads configs, and checks them against tensors.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <stable_diffusion/component_configs.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/configs_of_tensors.hpp>
#include <stable_diffusion/unread_tensors.hpp>
#include <weights/component_config.hpp>

#include <precast/io/message.hpp>

namespace precast::stable_diffusion {

namespace {

/// The kind of a model whose UNet is a file in the authors' naming; nothing for other models, whose folders
/// have configs.
std::optional<Kind> kind_of(const ModelFolder& model) {
  const auto unet = model.files.find("unet");
  if (unet == model.files.end()) return std::nullopt;
  const auto file = weight_file(io::ComponentSource(unet->second));
  return file ? std::optional(file->kind) : std::nullopt;
}

template <class Config, class OfTensors>
Config config_of(ModelFolder& model, const std::string& name, OfTensors&& of_tensors) {
  return weights::config_of<Config>(
      model, name, [&](const std::filesystem::path& path) { return ComponentWeights(path, name); },
      [&](const ComponentWeights& weights) {
        if (const std::optional<Kind> kind = kind_of(model)) return of_tensors(weights, *kind);
        throw weights.error("is given without a config.json, and there is no " +
                            io::shown(model.path / name / "config.json") +
                            ": give --model a folder that has it");
      },
      [](const ComponentWeights& weights, const Config& config) { return unread_tensors(weights, config); },
      [](const ComponentWeights& weights, const Config& config, const std::filesystem::path& config_file,
         weights::ConfigPlace place) {
        // Only across folders: within one, modules report differences, and notes name unread tensors.
        if (place == weights::ConfigPlace::elsewhere) check_agreement(weights, config, config_file);
      });
}

}  // namespace

UNetConfig unet_config_of(ModelFolder& model) {
  return config_of<UNetConfig>(model, "unet", [&](const ComponentWeights& weights, Kind kind) {
    UNetConfig config = unet_config(weights);
    config.sample_size = sample_size(kind, prediction_of(model));
    return config;
  });
}

vae::AutoencoderConfig vae_config_of(ModelFolder& model) {
  return config_of<vae::AutoencoderConfig>(model, "vae", autoencoder_config);
}

text::ClipConfig clip_config_of(ModelFolder& model, const std::string& name) {
  text::ClipConfig config = config_of<text::ClipConfig>(model, name, clip_config);
  config.scope = name;
  config.projects = name == "text_encoder_2";
  return config;
}

sampling::PredictionType prediction_of(const ModelFolder& model) {
  return model.scheduler.settings(sampling::SamplerKind::ddim).prediction_type;
}

}  // namespace precast::stable_diffusion
