// Where the model is: the folder that was named, else the embedded one.
#pragma once

#include <filesystem>
#include <string>

namespace precast::cli {

/// `given` where it is not empty; else the embedded model `shapes`: $PRECAST_SHAPES, then beside an installed
/// program, then in the source tree. Throws InputError that names the places where it was looked for.
std::filesystem::path model_path(const std::string& given);

/// The model's name for people: its folder's, or "shapes" for the embedded one.
std::string model_name(const std::filesystem::path& path, bool embedded);

}  // namespace precast::cli
