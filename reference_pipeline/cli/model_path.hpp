// Where the model is: the folder or the name that was given, else the embedded one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace precast::cli {

/// What `given` names, a folder or a model in Hugging Face's cache (families/hub_cache.hpp); else the
/// embedded model `shapes`: $PRECAST_SHAPES, then beside an installed program, then in the source tree.
/// Throws InputError that names the places where it was looked for, and UsageError for an empty name, which
/// is a variable that a script did not set and not a wish for another model.
std::filesystem::path model_path(const std::optional<std::string>& given);

/// The model's name for people: its folder's, its name on the hub where it lies in Hugging Face's cache, or
/// "shapes" for the embedded one, and "./shapes" for another folder of that name.
std::string model_name(const std::filesystem::path& path, bool embedded);

}  // namespace precast::cli
