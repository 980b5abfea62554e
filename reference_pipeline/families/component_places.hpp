// ComponentPlaces: where the components of an open model are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <families/model_files.hpp>

#include <precast/io/config.hpp>
#include <precast/io/message.hpp>

namespace precast::families {

struct ComponentPlaces {
  std::filesystem::path path;  ///< the model's folder
  ComponentFiles files;        ///< components that are elsewhere

  /// A component's folder or file.
  std::filesystem::path component(std::string_view name) const {
    const auto found = files.find(name);
    return found == files.end() ? path / name : found->second;
  }

  /// A component's own config.json, else the one of that component in the model's folder, for a component
  /// that is a file; "" where there is neither.
  std::filesystem::path config_file(std::string_view name) const {
    for (const std::filesystem::path& config : {component(name) / "config.json", path / name / "config.json"})
      if (io::is_there(config)) return config;
    return {};
  }

  /// The error that a number of a component does not fit the others. It names the config with that number,
  /// or else the file whose tensors it is from.
  io::FileError mismatch_error(std::string_view name, std::string_view key,
                               const std::string& problem) const {
    const std::filesystem::path config = config_file(name);
    if (!config.empty()) return io::Config::load(config).error(key, problem);
    return io::file_error(component(name), std::string(key) + ": " + problem);
  }

  /// Throws InputError where a tokenizer's maximum length, if it has one, is greater than a text encoder's
  /// table of positions.
  void check_positions(std::string_view encoder, std::int64_t positions,
                       std::optional<std::int64_t> model_max_length) const {
    if (model_max_length && *model_max_length > positions)
      throw mismatch_error(encoder, "max_position_embeddings",
                           "is " + std::to_string(positions) + ", and the tokenizer's texts have " +
                               std::to_string(*model_max_length) +
                               " tokens (model_max_length): the tokenizer is not this encoder's");
  }
};

}  // namespace precast::families
