// ModelFolder: a Flux model in the layout that diffusers writes, or in files. Opening it reads configs and
// heads of files, no weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <families/component_places.hpp>
#include <families/model_defaults.hpp>
#include <families/model_files.hpp>
#include <flux/preview.hpp>
#include <flux/transformer.hpp>
#include <sampling/flow_match_euler.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

namespace precast::flux {

struct ModelFolder : families::ComponentPlaces {
  TransformerConfig transformer;
  text::ClipConfig clip;
  text::T5Config t5;
  vae::AutoencoderConfig vae;
  sampling::FlowMatchSettings scheduler;
  families::ModelDefaults defaults;
  std::vector<std::string> notes;  ///< parts of the files that are not read

  /// Reads and checks every config, and that the components fit together. What is given as a file takes the
  /// place of a folder's component; a file's tensors and the folder's config must agree. A model that is a
  /// file brings what is in it, and has the rest from its own folder where that is a model's. What no config
  /// says is as its tensors say, and as in Flux.1 dev and schnell. Throws InputError that names the file.
  static ModelFolder open(const families::ModelFiles& files);

  /// The preview map of its latents: that of its precast.json, else Flux's own if the latents have as many
  /// channels; else nothing.
  std::optional<PreviewMap> preview_map() const;
};

}  // namespace precast::flux
