#include <cstdint>
#include <string_view>

#include <families/model_defaults.hpp>
#include <families/setting_ranges.hpp>

namespace precast::families {

ModelDefaults ModelDefaults::from(const io::Config& json) {
  const auto integer = [&](std::string_view key, std::int64_t most) -> std::optional<int> {
    if (const auto value = json.optional_integer(key, 1, most)) return static_cast<int>(*value);
    return std::nullopt;
  };
  ModelDefaults defaults;
  defaults.steps = integer("steps", most_steps);
  defaults.width = integer("width", largest_side);
  defaults.height = integer("height", largest_side);
  defaults.guidance = json.optional_number("guidance", guidance_range.least, guidance_range.most);
  if (json.has("preview")) defaults.preview = PreviewMap::from(json);
  return defaults;
}

void ModelDefaults::check_preview(const std::filesystem::path& file, std::int64_t latent_channels) const {
  if (preview && std::ssize(preview->weights) != latent_channels)
    throw io::Config::load(file).error("preview", "must have a row of weights for each of the " +
                                                      std::to_string(latent_channels) +
                                                      " latent_channels of vae/config.json");
}

}  // namespace precast::families
