// PyTorch checkpoints, which are known by their names and first bytes, and not read.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace precast::io {

/// What a message about one ends with.
inline constexpr std::string_view no_checkpoint_is_read =
    "which can run code when it is opened: convert it to safetensors";

/// Whether a file that is not safetensors begins as a checkpoint does: as a zip archive, or as a pickle.
inline bool begins_as_checkpoint(std::string_view start) {
  return start.starts_with("PK") || start.starts_with('\x80');
}

/// The name of a folder's PyTorch checkpoint, of its first shard, or of its index.
inline std::optional<std::string> find_checkpoint(const std::filesystem::path& folder) {
  constexpr std::array<std::string_view, 2> stems{"diffusion_pytorch_model", "pytorch_model"};
  std::optional<std::string> first;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    // "STEM.bin", "STEM.VARIANT.bin", "STEM-00001-of-00002.bin", "STEM.bin.index.json"
    const bool named = std::ranges::any_of(stems, [&](std::string_view stem) {
      return name.starts_with(stem) &&
             std::string_view(".-").find(name.c_str()[stem.size()]) != std::string_view::npos;
    });
    const bool is_one =
        name.ends_with(".bin") || (name.find(".bin.index.") != std::string::npos && name.ends_with(".json"));
    if (named && is_one && (!first || name < *first)) first = name;
  }
  return first;
}

}  // namespace precast::io
