// ModelFolder: a Stable Diffusion model in the layout that diffusers writes. Opening it reads configs, no
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
  std::optional<text::ClipConfig> text_encoder;    ///< absent from refiners
  std::optional<text::ClipConfig> text_encoder_2;  ///< of XL models, with a projection
  vae::AutoencoderConfig vae;
  sampling::SchedulerConfig scheduler;
  bool force_zeros_for_empty_prompt = true;  ///< without a negative prompt, XL is guided away from zeros
  bool requires_aesthetics_score = false;    ///< a score takes the place of the last two time ids
  bool is_lcm = false;                       ///< saved as a pipeline of latent consistency models
  families::ModelDefaults defaults;
  std::vector<std::string> notes;  ///< what of the folder, and of files, is not used

  /// Reads and checks every config, and that the components fit together. What is given as a file or a
  /// component's folder takes the place of the model folder's component, with its own config.json where it
  /// has one; its tensors must agree with that, else with the folder's. A model that is a file brings what is
  /// in it, and has the rest from its own folder: tokenizers at least. What no config says is as its tensors
  /// say, and as in the published models of its kind. Throws InputError that names the file.
  static ModelFolder open(const families::ModelFiles& given);

  /// Two text encoders side by side, and sizes as conditioning.
  bool is_xl() const { return unet.text_time; }
  /// One that is guided by an embedding, in one prediction a step.
  bool embeds_guidance() const { return unet.guidance_channels > 0; }
  /// Its UNet takes a mask and a masked picture beside the latents.
  bool takes_mask() const { return unet.in_channels > vae.latent_channels; }
  /// Numbers that go with the pooled text: sizes and crops, or sizes and a score.
  std::int64_t time_ids() const { return requires_aesthetics_score ? 5 : 6; }

  /// How its latents look: as its precast.json says, else as those of Stable Diffusion or XL do where they
  /// have 4 channels; nothing where neither is so.
  std::optional<families::PreviewMap> preview_map() const;

 private:
  ModelFolder(std::filesystem::path folder, families::ComponentFiles given,
              sampling::SchedulerConfig settings)
      : ComponentPlaces{std::move(folder), std::move(given)}, scheduler(std::move(settings)) {}
  /// A folder that diffusers saved, with files in place of some of its components.
  static ModelFolder open_folder(const std::filesystem::path& path, families::ComponentFiles files);
  /// A model without a model_index.json, out of files and what lies beside them.
  static ModelFolder open_parts(const std::filesystem::path& folder, families::ComponentFiles files);
  /// Throws InputError where components are not of one model.
  void check_fit() const;
};

}  // namespace precast::stable_diffusion
