// Finds the model: the given folder, file or name, else a bundled one; and the files that replace its
// parts.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <families/model_files.hpp>

namespace precast::cli {

/// The path of a model by name. `shapes` (or `shapes-flux`, a tiny Flux) and `shapes-sd` (a tiny Stable
/// Diffusion) are bundled: looked up in $PRECAST_SHAPES or $PRECAST_SHAPES_SD, then in the prefix of an
/// installed program, then through precast_models next to a built one. Any other name is a folder, a file
/// or a model in Hugging Face's cache (families/hub_cache.hpp); "./shapes" is a folder. Throws InputError
/// that names the places searched.
std::filesystem::path named_model(const std::string& name);

/// Whether the name is that of a bundled model.
bool is_bundled(std::string_view name);

/// named_model of `given`, else the bundled `shapes`. Throws UsageError for an empty name, which comes from
/// an unset variable in a script.
std::filesystem::path model_path(const std::optional<std::string>& given);

/// File by component name ("vae"), as given.
using ComponentFiles = std::map<std::string, std::string>;

/// Adds --transformer, --text-encoder, --text-encoder-2 and --vae.
void add_component_options(CLI::App& command, ComponentFiles& files);

/// The model of `--model`, with its parts replaced by the files of those options. Throws as model_path
/// does, and InputError for a missing file.
families::ModelFiles model_files(const std::optional<std::string>& given, const ComponentFiles& files);

/// The displayed name of the model `given`: the folder's or the file's name, the hub's name for a model in
/// Hugging Face's cache, a bundled model's name ("shapes" if none was given), and "./shapes" for another
/// folder of that name.
std::string model_name(const std::filesystem::path& path, const std::optional<std::string>& given);

}  // namespace precast::cli
