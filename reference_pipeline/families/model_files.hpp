// ModelFiles: the folder or file of a model, and the files that replace parts of it.
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace precast::families {

/// A component's name ("vae") and the file or folder to take it from.
using ComponentFiles = std::map<std::string, std::filesystem::path, std::less<>>;

/// A model as the caller names it. A path converts to one.
struct ModelFiles {
  /// A folder that diffusers saved, or a file that holds a part of a model or all of them.
  std::filesystem::path model;
  ComponentFiles components;  ///< components that are elsewhere

  template <std::convertible_to<std::filesystem::path> Path>
  ModelFiles(const Path& path) : model(path) {}  // NOLINT: a path is a model
  ModelFiles(std::filesystem::path path, ComponentFiles given)
      : model(std::move(path)), components(std::move(given)) {}

  /// Whether it is a diffusers folder and nothing else.
  bool is_folder_alone() const {
    std::error_code ignored;
    return components.empty() && !std::filesystem::is_regular_file(model, ignored);
  }
};

}  // namespace precast::families
