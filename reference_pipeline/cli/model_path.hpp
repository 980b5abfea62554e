// Where the model is: the folder, file or name that was given, else the embedded one; and the files that take
// the place of its parts.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <families/model_files.hpp>

namespace precast::cli {

/// What `given` names, a folder, a file or a model in Hugging Face's cache (families/hub_cache.hpp); else the
/// embedded model `shapes`: $PRECAST_SHAPES, then beside an installed program, then in the source tree.
/// Throws InputError that names the places where it was looked for, and UsageError for an empty name, which
/// is a variable that a script did not set and not a wish for another model.
std::filesystem::path model_path(const std::optional<std::string>& given);

/// A component's name ("vae") and what was given for it.
using ComponentFiles = std::map<std::string, std::string>;

/// Adds --transformer, --text-encoder, --text-encoder-2 and --vae.
void add_component_options(CLI::App& command, ComponentFiles& files);

/// The model of `--model` with the files that those options name in place of its parts. Throws as model_path
/// does, and InputError for a file that is not there.
families::ModelFiles model_files(const std::optional<std::string>& given, const ComponentFiles& files);

/// The model's name for people: its folder's, its name on the hub where it lies in Hugging Face's cache, or
/// "shapes" for the embedded one, and "./shapes" for another folder of that name;
/// of a file its name.
std::string model_name(const std::filesystem::path& path, bool embedded);

}  // namespace precast::cli
