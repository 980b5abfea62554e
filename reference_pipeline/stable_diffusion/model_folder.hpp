// ModelFolder: a Stable Diffusion model in diffusers' layout. Opening it reads configs, no
// weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <families/component_places.hpp>
#include <families/model_defaults.hpp>
#include <families/model_files.hpp>
#include <sampling/scheduler_config.hpp>
#include <stable_diffusion/unet.hpp>
#include <text/clip_text_model.hpp>
#include <vae/autoencoder.hpp>

namespace precast::stable_diffusion {

struct ModelFolder : families::ComponentPlaces {
  UNetConfig unet;
  std::optional<text::ClipConfig> text_encoder;    ///< refiners have none
  std::optional<text::ClipConfig> text_encoder_2;  ///< of XL models, with a projection
  vae::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  bool force_zeros_for_empty_prompt = true;  ///< without a negative prompt, XL's guidance uses zeros
  bool requires_aesthetics_score = false;    ///< a score replaces the last two time ids
  bool is_lcm = false;                       ///< saved as a latent consistency pipeline
  families::ModelDefaults defaults;
  std::vector<std::string> notes;  ///< on unused parts of the folder and of files

  /// Reads and checks every config, and that the components fit together. A component given as a file or
  /// folder replaces the model folder's, with its own config.json if it has one; its tensors must agree
  /// with that, else with the model folder's. A model that is a file provides the components in it; the
  /// rest, at least the tokenizers, come from its folder. Values in no config follow from the tensors and
  /// from the published models of its kind. Throws InputError that names the file.
  static ModelFolder open(const families::ModelFiles& given);

  /// Whether it has two text encoders, and sizes as conditioning.
  bool is_xl() const { return unet.text_time; }
  /// Whether guidance is an input embedding, with one prediction a step.
  bool embeds_guidance() const { return unet.guidance_channels > 0; }
  /// Whether the UNet has a mask and a masked picture as inputs beside the latents.
  bool takes_mask() const { return unet.in_channels > vae.latent_channels; }
  /// The number of time ids beside the pooled text: sizes and crops, or sizes and a score.
  std::int64_t time_ids() const { return requires_aesthetics_score ? 5 : 6; }

  /// The map from latents to preview colours: that of precast.json, else Stable Diffusion's or XL's for 4
  /// channels; else nothing.
  std::optional<families::PreviewMap> preview_map() const;

 private:
  ModelFolder(std::filesystem::path folder, families::ComponentFiles given,
              sampling::SchedulerConfig settings)
      : ComponentPlaces{std::move(folder), std::move(given)}, scheduler(std::move(settings)) {}
  /// Opens a folder that diffusers saved, with files in place of some components.
  static ModelFolder open_folder(const std::filesystem::path& path, families::ComponentFiles files);
  /// Opens a model without a model_index.json, from files and what is next to them.
  static ModelFolder open_parts(const std::filesystem::path& folder, families::ComponentFiles files);
  /// Throws InputError if the components belong to different models.
  void check_fit() const;
};

}  // namespace precast::stable_diffusion
