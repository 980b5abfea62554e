// What the name of a file ends in, by which a program chooses the format that it writes.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

namespace precast::io {

/// The suffix with its dot, in small letters: ".gguf" of "model.GGUF", and nothing of ".gguf" alone.
inline std::string suffix_of(const std::filesystem::path& file) {
  std::string suffix = file.extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return suffix;
}

}  // namespace precast::io
