// The tiny Stable Diffusion models and the results of diffusers with them (tests/golden/README.md).
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace precast::testing {

/// The folders that diffusers was run on, each of which differs from the others in every dimension.
inline constexpr std::array stable_diffusion_folders{"sd15", "sd21", "sdxl", "refiner", "inpaint", "lcm"};

inline std::filesystem::path stable_diffusion_model(std::string_view folder) {
  return std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden/stable_diffusion" / folder;
}

/// A copy of a folder's weights in one file, with the authors' names.
inline std::filesystem::path stable_diffusion_file(const std::string& folder) {
  return stable_diffusion_model(folder + ".safetensors");
}

/// Every case by its name; Golden("stable_diffusion") has its results.
inline nlohmann::json stable_diffusion_cases() {
  std::ifstream file(PRECAST_SOURCE_DIR "/tests/golden/expected/stable_diffusion.json");
  return nlohmann::json::parse(file);
}

}  // namespace precast::testing
