// Reads configs, and holds tensors against them.
#include <vector>

#include <stable_diffusion/component_configs.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/configs_of_tensors.hpp>
#include <stable_diffusion/unread_tensors.hpp>
#include <weights/component_facts.hpp>

#include <precast/io/message.hpp>

namespace precast::stable_diffusion {

namespace {

/// "FILE: 2 tensors are not read: 'a', 'b'"
template <class Config>
void note_unread(ModelFolder& model, const ComponentWeights& weights, const Config& config) {
  const std::vector<std::string> names = unread_tensors(weights, config);
  if (!names.empty()) model.notes.push_back(weights::unread_note(weights.path(), names));
}

template <class Config, class FromTensors>
Config config_of(ModelFolder& model, const std::string& name, FromTensors&& from_tensors) {
  const std::filesystem::path own = model.path / name, usual = own / "config.json";
  const auto given = model.files.find(name);
  if (given == model.files.end()) {
    Config config = Config::load(usual);
    // What a run takes is told of configs alone too.
    if (io::ComponentSource::find_weights(own)) note_unread(model, ComponentWeights(own, name), config);
    return config;
  }
  const ComponentWeights weights(given->second, name);
  const std::filesystem::path folder = given->second.parent_path();
  if (weights.file() && io::is_there(folder / "config.json") &&
      io::ComponentSource::find_weights(folder) == given->second)
    model.notes.push_back(io::shown(folder / "config.json") + " is not read, as a file was given: give " +
                          io::shown(folder) + " for the component with its config");
  for (const std::filesystem::path& config_file : {given->second / "config.json", usual})
    if (io::is_there(config_file)) {
      Config config = Config::load(config_file);
      check_agreement(weights, config, config_file);
      note_unread(model, weights, config);
      return config;
    }
  if (!weights.file())
    throw weights.error("has no config.json beside it, nor " + io::shown(usual) +
                        ": give --model a folder that has it");
  Config config = from_tensors(weights);
  note_unread(model, weights, config);
  return config;
}

}  // namespace

UNetConfig unet_config_of(ModelFolder& model) {
  return config_of<UNetConfig>(model, "unet", [&](const ComponentWeights& weights) {
    UNetConfig config = unet_config(weights);
    config.sample_size = sample_size(weights.file()->kind, prediction_of(model));
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
