// What a model folder's own precast.json says of the settings that it was made for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <families/preview_map.hpp>

#include <precast/io/config.hpp>

namespace precast::families {

/// Optional, as each of its keys is.
struct ModelDefaults {
  std::optional<int> steps, width, height;
  std::optional<double> guidance;
  std::optional<PreviewMap> preview;  ///< how its latents look

  /// Reads the file where it is there. Throws InputError that names it and the key.
  static ModelDefaults load(const std::filesystem::path& file) {
    return io::is_there(file) ? from(io::Config::load(file)) : ModelDefaults{};
  }
  static ModelDefaults from(const io::Config& json);

  /// Throws InputError that names the file where its map of colours is of other latents.
  void check_preview(const std::filesystem::path& file, std::int64_t latent_channels) const;
};

}  // namespace precast::families
