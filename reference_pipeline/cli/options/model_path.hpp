// Where the model is: the folder, file or name that was given, else a bundled one; and the files that take
// the place of its parts.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <families/model_files.hpp>

namespace precast::cli {

/// The folder of the bundled model of that name: `shapes`, a tiny Flux, which is `shapes-flux` too, and
/// `shapes-sd`, a tiny Stable Diffusion: $PRECAST_SHAPES or $PRECAST_SHAPES_SD, then in the prefix of an
/// installed program, then what precast_models beside a built one links to. Of another name what it names: a
/// folder, a file or a model in Hugging Face's cache (families/hub_cache.hpp); a folder that is called as an
/// bundled model is "./shapes". Throws InputError that names the place where it was looked for.
std::filesystem::path named_model(const std::string& name);

/// Whether this is a bundled model's name.
bool is_bundled(std::string_view name);

/// What `given` names, as named_model has it; else the bundled `shapes`. Throws UsageError for an empty
/// name, which is a variable that a script did not set and not a wish for another model.
std::filesystem::path model_path(const std::optional<std::string>& given);

/// A component's name ("vae") and what was given for it.
using ComponentFiles = std::map<std::string, std::string>;

/// Adds --transformer, --text-encoder, --text-encoder-2 and --vae.
void add_component_options(CLI::App& command, ComponentFiles& files);

/// The model of `--model` with the files that those options name in place of its parts. Throws as model_path
/// does, and InputError for a file that is not there.
families::ModelFiles model_files(const std::optional<std::string>& given, const ComponentFiles& files);

/// The name for people of the model that was `given`: its folder's, its name on the hub where it lies in
/// Hugging Face's cache, a bundled model's name ("shapes" where none was given), and "./shapes" for another
/// folder of such a name; of a file its name.
std::string model_name(const std::filesystem::path& path, const std::optional<std::string>& given);

}  // namespace precast::cli
