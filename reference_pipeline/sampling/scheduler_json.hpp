// A scheduler_config.json as diffusers writes it.
#pragma once

#include <filesystem>

#include <precast/io/json_text.hpp>

namespace precast::sampling {

/// The file's JSON. Python writes infinities, which no JSON has: they are null here. Throws InputError where
/// the file is missing, too large or malformed.
nlohmann::json scheduler_json(const std::filesystem::path& path);

}  // namespace precast::sampling
