// Opens models in single files: finds the components in them and next to them, and checks that they belong
// together.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <families/request_error.hpp>
#include <stable_diffusion/component_configs.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/configs_of_tensors.hpp>
#include <stable_diffusion/model_folder.hpp>
#include <weights/component_facts.hpp>

#include <precast/io/find_weights.hpp>
#include <precast/io/message.hpp>

namespace precast::stable_diffusion {

namespace {

using Files = families::ComponentFiles;

/// The denoiser's name in commands and in other families.
constexpr std::string_view other_name_of_unet = "transformer";

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// The components in a model's file.
Files files_in(const std::filesystem::path& file) {
  const auto found = weight_file(io::ComponentSource(file));
  if (!found || !refusal(*found).empty()) ComponentWeights{file, "unet"};  // throws, with the reason
  Files files;
  for (const FoundComponent& part : found->components) files.emplace(part.component, file);
  return files;
}

/// The text encoders of a kind, with their tokenizers.
std::vector<std::pair<std::string, std::string>> encoders_of(Kind kind) {
  std::vector<std::pair<std::string, std::string>> encoders;
  if (kind != Kind::xl_refiner) encoders.emplace_back("text_encoder", "tokenizer");
  if (kind == Kind::xl || kind == Kind::xl_refiner) encoders.emplace_back("text_encoder_2", "tokenizer_2");
  return encoders;
}

/// Throws InputError that names a missing folder. A folder with only a config lacks the weights.
void require_parts(const std::filesystem::path& folder, const Files& files, const std::filesystem::path& file,
                   const WeightFile& whole) {
  const auto lacks = [&](const std::string& component) {
    return !files.contains(component) &&
           !(io::is_there(folder / component) && io::find_weights(folder / component));
  };
  for (const auto& [encoder, tokenizer] : encoders_of(whole.kind)) {
    if (!io::is_there(folder / tokenizer))
      throw io::file_error(file, "is " + in_words(whole) + ", and its " + tokenizer + "/ is not in " +
                                     io::shown(folder) + ": put " + tokenizer +
                                     "/ of a model of its kind, as diffusers saves it, there");
    if (lacks(encoder))
      throw io::file_error(file, "is " + in_words(whole) + " without its " + encoder + ", and " +
                                     io::shown(folder) + " has no " + encoder +
                                     "/ with weights: put it there, or give a file (--" +
                                     (encoder == "text_encoder" ? "text-encoder" : "text-encoder-2") + ")");
  }
  if (lacks("vae"))
    throw io::file_error(file, "is " + in_words(whole) + " without its vae, and " + io::shown(folder) +
                                   " has no vae/ with weights: put it there, or give a file (--vae)");
}

/// Throws RequestError if a file is given for an encoder that the model lacks.
void check_given(const ModelFolder& model, const families::ModelFiles& given) {
  for (const auto& [name, path] : given.components) {
    const bool lacks = (name == "text_encoder" && !model.text_encoder) ||
                       (name == "text_encoder_2" && !model.text_encoder_2);
    if (lacks)
      throw families::RequestError(io::shown(path) + " is given as " + name + ", and " +
                                   io::shown(given.model) + " has none: leave --" +
                                   (name == "text_encoder" ? "text-encoder" : "text-encoder-2") + " out");
  }
}

/// Throws InputError if the scheduler's config contradicts a tensor on the UNet's prediction type.
void check_prediction(const ModelFolder& model) {
  const auto given = model.files.find("unet");
  if (given == model.files.end()) return;
  const ComponentWeights unet(given->second, "unet");
  const std::optional<WeightFile> whole = unet.file();
  if (!whole || !whole->predicts_v) return;
  if (prediction_of(model) != sampling::PredictionType::v_prediction)
    throw unet.error("has a tensor 'v_pred', so its UNet predicts v, and " +
                     io::shown(model.path / "scheduler" / "scheduler_config.json") +
                     " says otherwise: set its prediction_type to v_prediction");
}

/// A note on the prediction type assumed for a 2.x file, and the reason.
std::string note_of_prediction(const std::filesystem::path& file, const WeightFile& whole) {
  if (!whole.seems_to_predict_v)
    return io::shown(file) +
           ": no tensor of Stable Diffusion 2.x says what it predicts: assumed to be v, as 2.1 does "
           "(2.1-base does not: put its scheduler/ beside the file)";
  return io::shown(file) + ": assumed to be a UNet that predicts " +
         (*whole.seems_to_predict_v ? "v, as 2.1 does" : "noise, as 2.1-base does") + ", by the spread of " +
         std::string(bias_of_prediction) + " (where that is wrong, put its scheduler/ beside the file)";
}

/// Adds a note on matrices in a model's file that belong to no component.
void note_other_matrices(ModelFolder& model, const std::filesystem::path& file) {
  const io::ComponentSource source(file);
  const std::optional<WeightFile> found = weight_file(source);
  if (!found) return;
  const std::vector<std::string> names = other_matrices(source, *found);
  if (!names.empty()) model.notes.push_back(weights::unread_note(file, names));
}

}  // namespace

ModelFolder ModelFolder::open_parts(const std::filesystem::path& folder, Files files) {
  const auto unet_file = files.find("unet");
  if (unet_file == files.end() || !is_file(unet_file->second))
    throw io::file_error(folder,
                         "holds no model_index.json, and no file with a UNet is given: give --model a folder "
                         "that diffusers saved, or such a file");
  const std::filesystem::path file = unet_file->second;
  const std::optional<WeightFile> found = ComponentWeights(file, "unet").file();
  if (!found)
    throw io::file_error(file,
                         "has diffusers' names, and no model_index.json is beside it: give --model the "
                         "folder that it belongs to");
  const WeightFile& whole = *found;
  require_parts(folder, files, file, whole);
  const std::filesystem::path scheduler_file = folder / "scheduler" / "scheduler_config.json";
  ModelFolder model(folder, std::move(files),
                    io::is_there(scheduler_file)
                        ? sampling::SchedulerConfig::load(scheduler_file)
                        : sampling::SchedulerConfig::from(io::Config(file, scheduler_config(whole))));
  const bool takes_mask = whole.in_channels > 4;
  if (whole.kind == Kind::v2 && !whole.predicts_v && !takes_mask && !io::is_there(scheduler_file))
    model.notes.push_back(note_of_prediction(file, whole));
  model.force_zeros_for_empty_prompt = whole.kind == Kind::xl;
  model.requires_aesthetics_score = whole.kind == Kind::xl_refiner;
  model.unet = unet_config_of(model);
  check_prediction(model);
  for (const auto& [name, tokenizer] : encoders_of(whole.kind))
    (name == "text_encoder" ? model.text_encoder : model.text_encoder_2) = clip_config_of(model, name);
  model.vae = vae_config_of(model);
  model.defaults = families::ModelDefaults::load(folder / "precast.json");
  model.check_fit();
  return model;
}

ModelFolder ModelFolder::open(const families::ModelFiles& given) {
  if (given.is_folder_alone()) return open_folder(given.model, {});
  Files files = is_file(given.model) ? files_in(given.model) : Files{};
  for (const auto& [name, path] : given.components)
    files.insert_or_assign(name == other_name_of_unet ? std::string("unet") : name, path);
  const std::filesystem::path folder =
      is_file(given.model) ? std::filesystem::absolute(given.model).parent_path() : given.model;
  const bool saved_by_diffusers = io::is_there(folder / "model_index.json");
  ModelFolder model =
      saved_by_diffusers ? open_folder(folder, std::move(files)) : open_parts(folder, std::move(files));
  check_given(model, given);
  if (saved_by_diffusers) check_prediction(model);
  if (is_file(given.model)) note_other_matrices(model, given.model);
  return model;
}

}  // namespace precast::stable_diffusion
