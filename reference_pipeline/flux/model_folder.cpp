// Opens a diffusers folder and checks that its parts are of one model.
#include <string>

#include <flux/model_folder.hpp>

#include <precast/io/config.hpp>

namespace precast::flux {

namespace {

void check_index(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    throw InputError(path.string() +
                     ": there is no such model folder: give --model a folder that diffusers saved");
  const io::Config index = io::Config::load(path / "model_index.json");
  const std::string name = index.string("_class_name");
  if (!name.starts_with("Flux"))
    throw index.error("_class_name", "is '" + name.substr(0, 60) + "', and only Flux pipelines run here");
}

ModelDefaults load_defaults(const std::filesystem::path& file) {
  ModelDefaults defaults;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return defaults;
  const io::Config json = io::Config::load(file);
  const auto integer = [&](const char* key, std::int64_t most) -> std::optional<int> {
    if (const auto value = json.optional_integer(key, 1, most)) return static_cast<int>(*value);
    return std::nullopt;
  };
  defaults.steps = integer("steps", 10000);
  defaults.width = integer("width", 16384);
  defaults.height = integer("height", 16384);
  if (json.has("guidance")) defaults.guidance = json.number("guidance", 0, 1000);
  return defaults;
}

void check_fit(const ModelFolder& model) {
  const io::Config json = io::Config::load(model.component("transformer") / "config.json");
  if (model.transformer.in_channels != 4 * model.vae.latent_channels)
    throw json.error("in_channels", "must be 4 times the " + std::to_string(model.vae.latent_channels) +
                                        " latent_channels of vae/config.json, not " +
                                        std::to_string(model.transformer.in_channels));
  if (model.transformer.joint_attention_dim != model.t5.d_model)
    throw json.error("joint_attention_dim", "must equal d_model of text_encoder_2/config.json, " +
                                                std::to_string(model.t5.d_model) + ", not " +
                                                std::to_string(model.transformer.joint_attention_dim));
  if (model.transformer.pooled_projection_dim != model.clip.hidden_size)
    throw json.error("pooled_projection_dim", "must equal hidden_size of text_encoder/config.json, " +
                                                  std::to_string(model.clip.hidden_size) + ", not " +
                                                  std::to_string(model.transformer.pooled_projection_dim));
}

}  // namespace

ModelFolder ModelFolder::open(const std::filesystem::path& path) {
  check_index(path);
  ModelFolder model{path,
                    TransformerConfig::load(path / "transformer" / "config.json"),
                    text::ClipConfig::load(path / "text_encoder" / "config.json"),
                    text::T5Config::load(path / "text_encoder_2" / "config.json"),
                    vae::AutoencoderConfig::load(path / "vae" / "config.json"),
                    sampling::FlowMatchSettings::load(path / "scheduler" / "scheduler_config.json"),
                    load_defaults(path / "precast.json")};
  check_fit(model);
  return model;
}

}  // namespace precast::flux
