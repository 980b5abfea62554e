// Opens a diffusers folder, or files, and checks that the parts are of one model.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <families/component_class.hpp>
#include <families/registry.hpp>
#include <flux/component_weights.hpp>
#include <flux/family.hpp>
#include <flux/model_folder.hpp>
#include <text/t5_vocabulary.hpp>

#include <precast/io/config.hpp>

namespace precast::flux {

namespace {

/// The command-line option that takes a file of that part.
std::string option_of(weights::Part part) {
  std::string name(weights::folder_of(part));
  std::ranges::replace(name, '_', '-');
  return name;
}

/// The class that diffusers would load a component with, whatever the component's own config says.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> component_classes{
    {{"scheduler", "FlowMatchEulerDiscreteScheduler"},
     {"text_encoder", "CLIPTextModel"},
     {"text_encoder_2", "T5EncoderModel"},
     {"tokenizer", "CLIPTokenizer"},
     {"tokenizer_2", "T5Tokenizer"},
     {"transformer", "FluxTransformer2DModel"},
     {"vae", "AutoencoderKL"}}};

void check_class(const io::Config& index, std::string_view component, std::string_view known) {
  if (!index.has(component)) return;
  const auto needs = ": a Flux model needs a component of class " + std::string(known);
  const std::optional<std::string> named = families::listed_class(index, component);
  if (!named) throw index.error(component, "is null, for the model was saved without it" + needs);
  if (!families::is_class(*named, known))
    throw index.error(component,
                      "has class '" + io::printable(*named, 40) + "', which is not supported" + needs);
}

/// Checks the index's classes, except of components replaced by given files.
void check_index(const ModelFolder& model) {
  const io::Config index = families::model_index(model.path);
  if (!family().recognises(index.string("_class_name"))) throw families::no_family(index);
  for (const auto& [component, known] : component_classes)
    if (!model.files.contains(component)) check_class(index, component, known);
}

void check_fit(const ModelFolder& model) {
  if (model.transformer.in_channels != 4 * model.vae.latent_channels)
    throw model.mismatch_error("transformer", "in_channels",
                               "must be 4 times the " + std::to_string(model.vae.latent_channels) +
                                   " latent_channels of vae/config.json, not " +
                                   std::to_string(model.transformer.in_channels));
  model.defaults.check_preview(model.path / "precast.json", model.vae.latent_channels);
  if (model.transformer.joint_attention_dim != model.t5.d_model)
    throw model.mismatch_error("transformer", "joint_attention_dim",
                               "must equal d_model of text_encoder_2/config.json, " +
                                   std::to_string(model.t5.d_model) + ", not " +
                                   std::to_string(model.transformer.joint_attention_dim));
  if (model.transformer.pooled_projection_dim != model.clip.hidden_size)
    throw model.mismatch_error("transformer", "pooled_projection_dim",
                               "must equal hidden_size of text_encoder/config.json, " +
                                   std::to_string(model.clip.hidden_size) + ", not " +
                                   std::to_string(model.transformer.pooled_projection_dim));
}

bool has_tokenizers(const ModelFolder& model) {
  return io::is_there(model.component("tokenizer")) && io::is_there(model.component("tokenizer_2"));
}

/// T5's tokenizer, where the model's folder lacks it and the file that has its weights does not.
void add_tokenizer(ModelFolder& model) {
  const auto t5 = model.files.find(weights::folder_of(weights::Part::t5));
  if (t5 != model.files.end() && !io::is_there(model.path / "tokenizer_2") &&
      text::is_gguf_with_tokenizer(t5->second))
    model.files.try_emplace("tokenizer_2", t5->second);
}

/// What a model file brings, and the folder that it lies in where that has the rest.
void add_file(ModelFolder& model, const std::filesystem::path& file) {
  const io::ComponentSource source(file);
  const auto parts = weights::parts_of(source);
  if (!weights::find_component(parts, "transformer")) {
    const auto other = weights::other_model(source, parts);
    const std::string known =
        ": give a model of Flux.1 dev or schnell, or of Stable Diffusion 1.x, 2.x or XL";
    if (other && other->kind == weights::OtherModel::Kind::unread)
      throw io::file_error(file, "is " + other->in_words + ", which is not read" + known);
    if (other) ComponentWeights{file, weights::Part::transformer};  // which says how it is given
    if (parts.empty()) throw io::file_error(file, "holds no model that is supported" + known);
    const weights::Part first = weights::part_in(parts.front().component);
    throw io::file_error(file, "holds " + std::string(weights::in_words(first)) +
                                   " and no transformer: give it to --" + option_of(first) +
                                   ", and --model the rest of the model");
  }
  for (const weights::FoundComponent& part : parts) model.files.try_emplace(part.component, file);
  model.path = std::filesystem::absolute(file).parent_path();
  add_tokenizer(model);
  if (!io::is_there(model.path / "model_index.json") && !has_tokenizers(model))
    throw io::file_error(
        file,
        "holds no tokenizers, and there are none beside it: give --model a folder with tokenizer/ and "
        "tokenizer_2/ "
        "(a model's, as diffusers saves it), and this file to --transformer" +
            std::string(parts.size() > 1 ? " and to the other options whose parts it holds" : ""));
}

/// The folder is a model's, or every component is given and it has what files do not hold.
void check_folder(const ModelFolder& model) {
  if (model.files.empty() || io::is_there(model.path / "model_index.json")) return check_index(model);
  for (const weights::Part part : weights::flux_parts)
    if (!model.files.contains(weights::folder_of(part)) &&
        !io::is_there(model.path / weights::folder_of(part)))
      throw io::file_error(model.path, "is not a model that diffusers saved, and " +
                                           std::string(weights::in_words(part)) +
                                           " is not given either: give it with --" + option_of(part));
  if (!has_tokenizers(model))
    throw io::file_error(model.path,
                         "holds no tokenizer/ and tokenizer_2/: give --model a folder that has them, such as "
                         "a model's that diffusers saved (a GGUF file of T5 may have the second inside)");
}

template <class Config, class OfTensors>
Config config_of(ModelFolder& model, weights::Part part, OfTensors&& of_tensors) {
  return weights::config_of<Config>(
      model, std::string(weights::folder_of(part)),
      [&](const std::filesystem::path& path) { return ComponentWeights(path, part); }, of_tensors,
      [](const ComponentWeights& weights, const Config&) { return weights.unread(); },
      [](const ComponentWeights& weights, const Config& config, const std::filesystem::path& config_file,
         ConfigPlace place) { check_agreement(weights, config, config_file, place); });
}

/// A folder's, else what Flux.1 dev and schnell have.
sampling::FlowMatchSettings schedule_of(const ModelFolder& model) {
  const std::filesystem::path file = model.path / "scheduler" / "scheduler_config.json";
  if (model.files.empty() || io::is_there(file)) return sampling::FlowMatchSettings::load(file);
  sampling::FlowMatchSettings settings;
  settings.use_dynamic_shifting = model.transformer.guidance_embeds;
  settings.shift = settings.use_dynamic_shifting ? 3.0 : 1.0;
  return settings;
}

}  // namespace

ModelFolder ModelFolder::open(const families::ModelFiles& given) {
  ModelFolder model;
  model.path = given.model;
  model.files = given.components;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(given.model, ignored))
    add_file(model, given.model);
  else
    add_tokenizer(model);
  check_folder(model);
  using weights::Part;
  model.transformer = config_of<TransformerConfig>(model, Part::transformer, transformer_config);
  model.clip = config_of<text::ClipConfig>(model, Part::clip, clip_config);
  model.t5 = config_of<text::T5Config>(model, Part::t5, t5_config);
  model.vae = config_of<vae::AutoencoderConfig>(model, Part::autoencoder, autoencoder_config);
  model.scheduler = schedule_of(model);
  model.defaults = families::ModelDefaults::load(model.path / "precast.json");
  check_fit(model);
  return model;
}

std::optional<PreviewMap> ModelFolder::preview_map() const {
  if (defaults.preview) return defaults.preview;
  const PreviewMap usual = usual_preview_map();
  if (static_cast<std::int64_t>(usual.weights.size()) == vae.latent_channels) return usual;
  return std::nullopt;
}

}  // namespace precast::flux
