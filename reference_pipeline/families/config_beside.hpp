// Tells of a config.json beside a file of weights that was given, which nobody reads.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <precast/error.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::families {

/// "FILE is not read, ..." where the config.json beside a file of weights says otherwise than the config that
/// is used, of what no tensor tells. One that is of other tensors, of which `check_agreement(config, file)`
/// throws InputError, says nothing of these.
template <class Config, class CheckAgreement>
std::optional<std::string> note_of_config_beside(const std::filesystem::path& weights, const Config& used,
                                                 CheckAgreement&& check_agreement) {
  const std::filesystem::path folder = weights.parent_path(), config_file = folder / "config.json";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(weights, ignored) || !io::is_there(config_file)) return std::nullopt;
  try {
    const Config beside = Config::load(config_file);
    check_agreement(beside, config_file);
    if (beside.untold() == used.untold()) return std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
  return io::shown(config_file) + " is not read, as a file was given, and it says otherwise than " +
         "the config that is used: give " + io::shown(folder) + " for the component with its config";
}

}  // namespace precast::families
