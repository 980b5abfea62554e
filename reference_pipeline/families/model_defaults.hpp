// ModelDefaults: default settings from a model folder's own precast.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <families/preview_map.hpp>

#include <precast/io/config.hpp>

namespace precast::families {

/// The contents of a precast.json. The file and each of its keys are optional.
struct ModelDefaults {
  std::optional<int> steps, width, height;
  std::optional<double> guidance;
  std::optional<PreviewMap> preview;  ///< maps its latents to colours

  /// Reads the file if it exists. Throws InputError that names it and the key.
  static ModelDefaults load(const std::filesystem::path& file) {
    return io::is_there(file) ? from(io::Config::load(file)) : ModelDefaults{};
  }
  static ModelDefaults from(const io::Config& json);

  /// Throws InputError that names the file if its preview map is not for `latent_channels` channels.
  void check_preview(const std::filesystem::path& file, std::int64_t latent_channels) const;
};

}  // namespace precast::families
