// Opens a diffusers folder, and checks that its components belong to one model.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <families/component_class.hpp>
#include <families/registry.hpp>
#include <stable_diffusion/component_configs.hpp>
#include <stable_diffusion/family.hpp>
#include <stable_diffusion/model_folder.hpp>

#include <precast/io/config.hpp>
#include <precast/io/message.hpp>

namespace precast::stable_diffusion {

namespace {

/// The class with which diffusers loads a component, whatever the component's own config says. Schedulers
/// are checked where their settings are read.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> component_classes{
    {{"text_encoder", "CLIPTextModel"},
     {"text_encoder_2", "CLIPTextModelWithProjection"},
     {"unet", "UNet2DConditionModel"},
     {"vae", "AutoencoderKL"}}};
constexpr std::array<std::string_view, 3> other_components{"scheduler", "tokenizer", "tokenizer_2"};

/// Throws InputError if a listed component has another class.
void check_class(const io::Config& index, std::string_view component, std::string_view known) {
  const std::optional<std::string> named = families::listed_class(index, component);
  if (named && !families::is_class(*named, known))
    throw index.error(component,
                      "has class '" + io::printable(*named, 40) +
                          "', which is not supported: a Stable Diffusion model needs one of class " +
                          std::string(known));
}

void require(const io::Config& index, std::string_view component, std::string_view why) {
  if (families::listed_class(index, component)) return;
  throw index.error(component, (index.has(component) ? "is null, for the model was saved without it: "
                                                     : "is missing: get the file again, for ") +
                                   std::string(why));
}

/// Notes on components in the folder that are not used.
std::vector<std::string> notes_of(const io::Config& index) {
  std::vector<std::string> notes;
  const std::string where = io::shown(index.path()) + ": ";
  for (const auto& [name, entry] : index.json().items()) {
    if (!entry.is_array() || entry.size() != 2 || entry[1].is_null()) continue;
    const auto is_named = [&wanted = name](const auto& one) { return one.first == wanted; };
    const bool known = std::ranges::find(other_components, name) != other_components.end() ||
                       std::ranges::any_of(component_classes, is_named);
    if (known) continue;
    if (name == "safety_checker")
      notes.push_back(where + "its safety_checker is not run: pictures are not checked");
    else if (name != "feature_extractor")  // which only the safety checker uses
      notes.push_back(where + "its " + io::printable(name) + " is not used");
  }
  if (index.boolean_or("add_watermarker", false))
    notes.push_back(where + "add_watermarker is true, and pictures get no watermark here");
  return notes;
}

/// Throws InputError if the text encoder needs an attention mask over padding.
void check_attention_mask(const ModelFolder& model) {
  const std::filesystem::path config = model.config_file("text_encoder");
  if (config.empty()) return;
  const io::Config json = io::Config::load(config);
  if (json.boolean_or("use_attention_mask", false))
    throw json.error("use_attention_mask",
                     "is true, which hides padding from the text encoder and is not supported: use a model "
                     "of Stable Diffusion 1.x, 2.x or XL");
}

}  // namespace

void ModelFolder::check_fit() const {
  const ModelFolder& model = *this;
  model.defaults.check_preview(model.path / "precast.json", model.vae.latent_channels);
  const std::int64_t latents = model.vae.latent_channels;
  if (model.unet.out_channels != latents)
    throw model.mismatch_error("unet", "out_channels",
                               "must equal the latent_channels of vae/config.json, " +
                                   std::to_string(latents) + ", not " +
                                   std::to_string(model.unet.out_channels));
  if (model.unet.in_channels != latents && model.unet.in_channels != 2 * latents + 1)
    throw model.mismatch_error(
        "unet", "in_channels",
        "must be the " + std::to_string(latents) + " latent_channels of vae/config.json, or " +
            std::to_string(2 * latents + 1) + " with a mask and a masked picture beside them, not " +
            std::to_string(model.unet.in_channels));
  if (model.is_lcm && model.unet.guidance_channels == 0)
    throw model.mismatch_error(
        "unet", "time_cond_proj_dim",
        "is missing, and a latent consistency model takes its guidance by it: get the file again");
  std::int64_t width = 0;
  std::string encoders;
  for (const auto& [name, config] :
       {std::pair("text_encoder", &model.text_encoder), std::pair("text_encoder_2", &model.text_encoder_2)})
    if (*config) {
      width += (*config)->hidden_size;
      encoders += (encoders.empty() ? "" : " and ") + std::string(name) + "/config.json";
    }
  if (model.unet.context_width != width)
    throw model.mismatch_error("unet", "cross_attention_dim",
                               "must equal the hidden_size of " + encoders +
                                   (model.text_encoder && model.text_encoder_2 ? " together, " : ", ") +
                                   std::to_string(width) + ", not " +
                                   std::to_string(model.unet.context_width));
  if (model.is_xl() != model.text_encoder_2.has_value())
    throw model.mismatch_error("unet", "addition_embed_type",
                               model.is_xl()
                                   ? "must be absent: the model has no text_encoder_2, whose pooled text "
                                     "the UNet would take"
                                   : "must be text_time: the model has a text_encoder_2, whose pooled text "
                                     "the UNet does not take");
  if (!model.is_xl()) return check_attention_mask(model);  // XL's pipelines do not read it
  const std::int64_t wanted =
      model.text_encoder_2->projection_dim + model.time_ids() * model.unet.time_id_channels;
  if (model.unet.text_time_width != wanted)
    throw model.mismatch_error(
        "unet", "projection_class_embeddings_input_dim",
        "must be " + std::to_string(wanted) + ", the projection_dim of text_encoder_2/config.json, " +
            std::to_string(model.text_encoder_2->projection_dim) + ", and " +
            std::to_string(model.time_ids()) + " times addition_time_embed_dim, not " +
            std::to_string(model.unet.text_time_width) +
            (model.unet.text_time_width ==
                     wanted + (model.requires_aesthetics_score ? 1 : -1) * model.unet.time_id_channels
                 ? ": requires_aesthetics_score of model_index.json is the other way round"
                 : ""));
}

ModelFolder ModelFolder::open_folder(const std::filesystem::path& path, families::ComponentFiles files) {
  const io::Config index = families::model_index(path);
  if (!family().recognises(index.string("_class_name"))) throw families::no_family(index);
  for (const auto& [component, known] : component_classes) check_class(index, component, known);
  for (const std::string_view component : {"unet", "vae", "scheduler"})
    require(index, component, "a Stable Diffusion model has one");

  ModelFolder model(path, std::move(files),
                    sampling::SchedulerConfig::load(path / "scheduler" / "scheduler_config.json",
                                                    *families::listed_class(index, "scheduler")));
  model.notes = notes_of(index);
  model.is_lcm = index.string("_class_name").starts_with("LatentConsistencyModel");
  model.force_zeros_for_empty_prompt = index.boolean_or("force_zeros_for_empty_prompt", true);
  model.requires_aesthetics_score = index.boolean_or("requires_aesthetics_score", false);
  model.unet = unet_config_of(model);
  const auto encoder = [&](std::string_view name, std::string_view tokenizer) {
    require(index, tokenizer, "its " + std::string(name) + " takes its tokens");
    check_class(index, tokenizer, "CLIPTokenizer");
    return clip_config_of(model, std::string(name));
  };
  if (model.is_xl()) {
    if (model.files.contains("unet") && !families::listed_class(index, "text_encoder_2"))
      throw io::file_error(model.component("unet"), "is a UNet of the XL kind, and " + io::shown(path) +
                                                        " has no text_encoder_2 for it: give another UNet");
    require(index, "text_encoder_2", "a model of the XL kind takes its pooled text");
    model.text_encoder_2 = encoder("text_encoder_2", "tokenizer_2");
  } else {
    require(index, "text_encoder", "a model without addition_embed_type in unet/config.json has no other");
  }
  if (families::listed_class(index, "text_encoder"))
    model.text_encoder = encoder("text_encoder", "tokenizer");
  if (!model.is_xl() && families::listed_class(index, "text_encoder_2"))
    model.notes.push_back(io::shown(index.path()) + ": its text_encoder_2 is not used by its unet");
  model.vae = vae_config_of(model);
  model.defaults = families::ModelDefaults::load(path / "precast.json");
  model.check_fit();
  return model;
}

std::optional<families::PreviewMap> ModelFolder::preview_map() const {
  if (defaults.preview) return defaults.preview;
  // Linear fits for these two autoencoders, independent of the UNet: ComfyUI's latent_rgb_factors of SD15
  // and SDXL (comfy/latent_formats.py, 2025).
  static const families::PreviewMap usual{{{0.3512f, 0.2297f, 0.3227f},
                                           {0.3250f, 0.4974f, 0.2350f},
                                           {-0.2829f, 0.1762f, 0.2721f},
                                           {-0.2120f, -0.2616f, -0.7177f}},
                                          {}};
  static const families::PreviewMap of_xl{{{0.3651f, 0.4232f, 0.4341f},
                                           {-0.2533f, -0.0042f, 0.1068f},
                                           {0.1076f, 0.1111f, -0.0362f},
                                           {-0.3165f, -0.2492f, -0.2188f}},
                                          {0.1084f, -0.0175f, -0.0011f}};
  if (vae.latent_channels != std::ssize(usual.weights)) return std::nullopt;
  return is_xl() ? of_xl : usual;
}

}  // namespace precast::stable_diffusion
