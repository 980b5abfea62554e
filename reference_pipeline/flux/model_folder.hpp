// ModelFolder: a Flux model in the layout that diffusers writes. Opening it reads configs, no weights.
#pragma once

#include <filesystem>
#include <optional>

#include <flux/preview.hpp>
#include <flux/transformer.hpp>
#include <sampling/flow_match_euler.hpp>
#include <text/clip_text_model.hpp>
#include <text/t5_encoder.hpp>
#include <vae/autoencoder.hpp>

namespace precast::flux {

/// What a model folder's own precast.json says of the settings it was made for. Optional, as each of its keys
/// is.
struct ModelDefaults {
  std::optional<int> steps, width, height;
  std::optional<double> guidance;
  std::optional<PreviewMap> preview;  ///< how its latents look
};

struct ModelFolder {
  std::filesystem::path path;
  TransformerConfig transformer;
  text::ClipConfig clip;
  text::T5Config t5;
  vae::AutoencoderConfig vae;
  sampling::FlowMatchSettings scheduler;
  ModelDefaults defaults;

  /// Reads and checks every config, and that the components fit together. Throws InputError that names the
  /// file.
  static ModelFolder open(const std::filesystem::path& path);

  /// How its latents look: as its precast.json says, else as Flux's do where there are as many channels as
  /// those have; nothing where neither is so.
  std::optional<PreviewMap> preview_map() const;

  std::filesystem::path component(std::string_view name) const { return path / name; }
};

}  // namespace precast::flux
