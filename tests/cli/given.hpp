// What tests of the program give it: words, and the models and files that lie in the repository.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <precast/memory/address_sanitizer.hpp>

namespace program {

inline constexpr bool sanitized = PRECAST_HAS_ADDRESS_SANITIZER;  // which takes memory of its own

inline const std::string source = PRECAST_SOURCE_DIR;
/// Folders of small models that a script made, a Flux with guidance, and the embedded Flux.
inline const std::string golden_models = source + "/tests/golden/models/";
inline const std::string small_flux = golden_models + "dev_f32";
inline const std::string shapes_model = source + "/reference_pipeline/shapes/model";
/// The source's costs of Flux-dev.
inline const std::string flux_dev_costs = source + "/tests/casting/data/flux_dev_costs.json";

using Words = std::vector<std::string>;
/// The words, and more of them.
inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// What trains a tiny model, and says nothing but errors.
inline Words train_tiny(const Words& more) {
  return with({"train", "--width", "16", "--heads", "2", "--layers", "1", "--quiet"}, more);
}
/// The same into a folder, with batches that take no time.
inline Words train(const std::filesystem::path& output, const Words& more) {
  return with(train_tiny({"--batch", "2", "--context", "8", "--sample", "0", "--output", output.string()}),
              more);
}

/// The names of what is in a folder.
inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

}  // namespace program
