#include <algorithm>
#include <utility>

#include <families/presets.hpp>

#include <precast/policy/paths.hpp>

namespace precast::families {

namespace {

constexpr std::size_t most_added = 64;

std::vector<AddedPreset>& added() {
  static std::vector<AddedPreset> presets;
  return presets;
}

/// The first precision that stands for no preset yet.
Precision free_precision() {
  for (std::size_t i = 0; i < most_added; ++i)
    if (const auto precision = static_cast<Precision>(first_added_precision + i);
        std::ranges::none_of(added(), [&](const auto& p) { return p.choice.precision == precision; }))
      return precision;
  throw Error("no more than " + std::to_string(most_added) + " presets can be added to a program");
}

}  // namespace

PresetAddition::PresetAddition(AddedPreset preset) : name_(preset.name) {
  if (name_ == "auto" || find_preset(name_) || precision_named(name_))
    throw Error("preset '" + std::string(name_) + "' already exists: choose another name");
  preset.choice = {.precision = free_precision()};
  added().push_back(std::move(preset));
}

PresetAddition::~PresetAddition() {
  std::erase_if(added(), [&](const AddedPreset& preset) { return preset.name == name_; });
}

std::vector<NamedPreset> all_presets() {
  std::vector<NamedPreset> presets(named_presets.begin(), named_presets.end());
  for (const AddedPreset& preset : added()) presets.push_back({preset.name, preset.choice, preset.summary});
  return presets;
}

std::vector<NamedPreset> compiled_presets() {
  std::vector<NamedPreset> presets = all_presets();
  std::erase_if(presets, [](const NamedPreset& preset) {
    return !added_preset(preset.choice) && !path_compiled(preset.choice);
  });
  return presets;
}

std::optional<NamedPreset> smallest_preset() {
  std::optional<NamedPreset> smallest;
  double most = 0;
  for (const NamedPreset& preset : named_presets) {
    if (!path_compiled(preset.choice)) continue;
    const double bytes = bytes_per_value(preset.choice);
    most = std::max(most, bytes);
    if (!smallest || bytes <= bytes_per_value(smallest->choice)) smallest = preset;
  }
  if (smallest && bytes_per_value(smallest->choice) == most) smallest.reset();
  return smallest;
}

std::optional<NamedPreset> find_preset(std::string_view name) {
  for (const NamedPreset& preset : all_presets())
    if (preset.name == name) return preset;
  return std::nullopt;
}

const AddedPreset* added_preset(const PolicyChoice& choice) {
  const auto found = std::ranges::find(added(), choice.precision,
                                       [](const AddedPreset& preset) { return preset.choice.precision; });
  return found == added().end() ? nullptr : &*found;
}

void require_policy(const PolicyChoice& choice) {
  const AddedPreset* const preset = added_preset(choice);
  if (!preset) return require_path(choice);
  if (choice != preset->choice)
    throw PathNotCompiled("the preset " + std::string(preset->name) + " is compiled as " + preset->spelling +
                          " alone: leave out --flash and --upcast options beside it");
}

void throw_no_models(const PolicyChoice& choice) {
  const AddedPreset* const preset = added_preset(choice);
  throw PathNotCompiled(
      preset ? "the preset " + std::string(preset->name) +
                   " was compiled without models of that family: choose another preset, or give its "
                   "PresetRegistration the family's CompiledModels"
             : "this backend holds no models of that family under " + spelling(choice));
}

std::string spelling(const PolicyChoice& choice) {
  const AddedPreset* const preset = added_preset(choice);
  return preset ? preset->spelling : to_string(choice);
}

std::string_view precision_name(const PolicyChoice& choice) {
  const AddedPreset* const preset = added_preset(choice);
  return preset ? preset->name : to_string(choice.precision);
}

double bytes_per_value(const PolicyChoice& choice) {
  const AddedPreset* const preset = added_preset(choice);
  return preset ? preset->bytes_per_value : static_cast<double>(bytes_of(choice.precision));
}

}  // namespace precast::families
