// Reads configs, and holds tensors against them.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <families/config_beside.hpp>
#include <stable_diffusion/component_configs.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/configs_of_tensors.hpp>
#include <stable_diffusion/unread_tensors.hpp>
#include <weights/component_facts.hpp>

#include <precast/io/find_weights.hpp>
#include <precast/io/message.hpp>

namespace precast::stable_diffusion {

namespace {

/// "FILE: 2 tensors are not read: 'a', 'b'"
template <class Config>
void note_unread(ModelFolder& model, const ComponentWeights& weights, const Config& config) {
  const std::vector<std::string> names = unread_tensors(weights, config);
  if (!names.empty()) model.notes.push_back(weights::unread_note(weights.path(), names));
}

/// The kind of a model whose UNet is a file in its authors' names; nothing of others, whose folders have
/// configs.
std::optional<Kind> kind_of(const ModelFolder& model) {
  const auto unet = model.files.find("unet");
  if (unet == model.files.end()) return std::nullopt;
  const auto file = weight_file(io::ComponentSource(unet->second));
  return file ? std::optional(file->kind) : std::nullopt;
}

/// The config of weights that are given for a component: their folder's, else the model's, else what they
/// tell.
template <class Config, class FromTensors>
Config config_of_given(const ModelFolder& model, const ComponentWeights& weights, const std::string& name,
                       FromTensors&& from_tensors) {
  if (const std::filesystem::path config_file = model.config_file(name); !config_file.empty()) {
    Config config = Config::load(config_file);
    check_agreement(weights, config, config_file);
    return config;
  }
  const std::optional<Kind> kind = kind_of(model);
  if (!kind)
    throw weights.error("is given without a config.json, and there is no " +
                        io::shown(model.path / name / "config.json") + ": give --model a folder that has it");
  return from_tensors(weights, *kind);
}

template <class Config, class FromTensors>
Config config_of(ModelFolder& model, const std::string& name, FromTensors&& from_tensors) {
  const auto given = model.files.find(name);
  if (given == model.files.end()) {
    const std::filesystem::path own = model.path / name;
    Config config = Config::load(own / "config.json");
    // What a run takes is told of configs alone too.
    if (io::find_weights(own)) note_unread(model, ComponentWeights(own, name), config);
    return config;
  }
  const ComponentWeights weights(given->second, name);
  Config config = config_of_given<Config>(model, weights, name, from_tensors);
  if (const auto note = families::note_of_config_beside(
          weights.path(), config, [&](const Config& beside, const std::filesystem::path& file) {
            check_agreement(weights, beside, file);
          }))
    model.notes.push_back(*note);
  note_unread(model, weights, config);
  return config;
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
