// Reads the config of a component from its file, or else derives it from its tensors, and checks that both
// are of one model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <weights/component_facts.hpp>

#include <precast/error.hpp>
#include <precast/io/find_weights.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::weights {

/// Where a config that weights are compared with is: `beside` them, in one folder, or `elsewhere`.
enum class ConfigPlace : std::uint8_t { beside, elsewhere };

/// "FILE is not read, ..." where the config.json beside a file of weights differs from the used config in
/// keys that no tensor shows. Nothing where that config.json is of other tensors, for which
/// `check_agreement(config, file)` throws InputError.
template <class Config, class CheckAgreement>
std::optional<std::string> note_of_config_beside(const std::filesystem::path& weights, const Config& used,
                                                 CheckAgreement&& check_agreement) {
  const std::filesystem::path folder = weights.parent_path(), config_file = folder / "config.json";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(weights, ignored) || !io::is_there(config_file)) return std::nullopt;
  try {
    const Config beside = Config::load(config_file);
    check_agreement(beside, config_file);
    if (beside.not_in_tensors() == used.not_in_tensors()) return std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
  return io::shown(config_file) + " is not read, as a file was given, and it differs from " +
         "the config that is used: give " + io::shown(folder) + " for the component with its config";
}

/// The config of a component of `model`, a family's ModelFolder, to which it adds notes: what the
/// component's folder says; of one that lies elsewhere that folder, else the model's, else its tensors.
/// What the family knows: `open(path)` opens the weights, `of_tensors(weights)` is the config that they
/// tell, `unread(weights, config)` names tensors, and `check(weights, config, config_file, place)` throws
/// InputError where they are not of one model.
template <class Config, class Model, class Open, class OfTensors, class Unread, class Check>
Config config_of(Model& model, const std::string& name, Open&& open, OfTensors&& of_tensors, Unread&& unread,
                 Check&& check) {
  const auto note_unread = [&](const auto& weights, const Config& config) {
    const std::vector<std::string> names = unread(weights, config);
    if (!names.empty()) model.notes.push_back(unread_note(weights.path(), names));
  };
  if (!model.files.contains(name)) {
    const std::filesystem::path folder = model.path / name, file = folder / "config.json";
    Config config = Config::load(file);
    // What a run takes is told of configs alone too.
    if (io::find_weights(folder)) {
      const auto weights = open(folder);
      check(weights, config, file, ConfigPlace::beside);
      note_unread(weights, config);
    }
    return config;
  }
  const auto weights = open(model.component(name));
  const auto check_elsewhere = [&](const Config& config, const std::filesystem::path& file) {
    check(weights, config, file, ConfigPlace::elsewhere);
  };
  const std::filesystem::path file = model.config_file(name);
  Config config = file.empty() ? of_tensors(weights) : Config::load(file);
  if (!file.empty()) check_elsewhere(config, file);
  note_unread(weights, config);
  if (auto note = note_of_config_beside(weights.path(), config, check_elsewhere))
    model.notes.push_back(std::move(*note));
  return config;
}

}  // namespace precast::weights
