// Opens a diffusers folder and checks that its parts are of one model.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <families/registry.hpp>
#include <flux/family.hpp>
#include <flux/model_folder.hpp>

#include <precast/io/config.hpp>

namespace precast::flux {

namespace {

/// The class that diffusers would load a component with, whatever the component's own config says.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> component_classes{
    {{"scheduler", "FlowMatchEulerDiscreteScheduler"},
     {"text_encoder", "CLIPTextModel"},
     {"text_encoder_2", "T5EncoderModel"},
     {"transformer", "FluxTransformer2DModel"},
     {"vae", "AutoencoderKL"}}};

/// A component is listed as [library, class], and as [null, null] where the folder was saved without it.
void check_class(const io::Config& index, std::string_view component, std::string_view known) {
  if (!index.has(component)) return;
  const nlohmann::json& entry = index.json().at(std::string(component));
  if (!entry.is_array() || entry.size() != 2)
    throw index.error(component, "must name a library and a class: get the file anew");
  const auto needs = "a Flux model needs a component of class " + std::string(known);
  if (entry[1].is_null())
    throw index.error(component, "is null, for the model was saved without it: " + needs);
  if (entry[1] != known)
    throw index.error(component,
                      "has class " + io::json_in_words(entry[1]) + ", which is not known here: " + needs);
}

void check_index(const std::filesystem::path& path) {
  const io::Config index = families::model_index(path);
  if (!family().recognises(index.string("_class_name"))) throw families::no_family(index);
  for (const auto& [component, known] : component_classes) check_class(index, component, known);
}

/// {"weights": [[red, green, blue] for each channel], "bias": [red, green, blue]}
PreviewMap load_preview(const io::Config& json) {
  const nlohmann::json& object = json.json().at("preview");
  const auto colours = [&](const nlohmann::json& row) {
    std::array<f32, 3> values{};
    if (!row.is_array() || row.size() != values.size() ||
        !std::ranges::all_of(row, [](const nlohmann::json& value) { return value.is_number(); }))
      throw json.error("preview", "must hold rows of three numbers, red, green and blue: correct it");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = row[i].get<f32>();
    return values;
  };
  if (!object.is_object() || !object.contains("weights") || !object.contains("bias") ||
      !object["weights"].is_array())
    throw json.error("preview", "must be an object with 'weights' and 'bias': correct it");
  PreviewMap map;
  for (const nlohmann::json& row : object["weights"]) map.weights.push_back(colours(row));
  map.bias = colours(object["bias"]);
  return map;
}

ModelDefaults load_defaults(const std::filesystem::path& file) {
  ModelDefaults defaults;
  if (!io::is_there(file)) return defaults;
  const io::Config json = io::Config::load(file);
  const auto integer = [&](const char* key, std::int64_t most) -> std::optional<int> {
    if (const auto value = json.optional_integer(key, 1, most)) return static_cast<int>(*value);
    return std::nullopt;
  };
  defaults.steps = integer("steps", 10000);
  defaults.width = integer("width", 16384);
  defaults.height = integer("height", 16384);
  if (json.has("guidance")) defaults.guidance = json.number("guidance", 0, 1000);
  if (json.has("preview")) defaults.preview = load_preview(json);
  return defaults;
}

void check_fit(const ModelFolder& model) {
  const io::Config json = io::Config::load(model.component("transformer") / "config.json");
  if (model.transformer.in_channels != 4 * model.vae.latent_channels)
    throw json.error("in_channels", "must be 4 times the " + std::to_string(model.vae.latent_channels) +
                                        " latent_channels of vae/config.json, not " +
                                        std::to_string(model.transformer.in_channels));
  if (const auto& preview = model.defaults.preview;
      preview && static_cast<std::int64_t>(preview->weights.size()) != model.vae.latent_channels)
    throw io::Config::load(model.path / "precast.json")
        .error("preview", "must have a row of weights for each of the " +
                              std::to_string(model.vae.latent_channels) +
                              " latent_channels of vae/config.json");
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

std::optional<PreviewMap> ModelFolder::preview_map() const {
  if (defaults.preview) return defaults.preview;
  const PreviewMap usual = PreviewMap::of_flux();
  if (static_cast<std::int64_t>(usual.weights.size()) == vae.latent_channels) return usual;
  return std::nullopt;
}

}  // namespace precast::flux
