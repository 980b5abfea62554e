// is_file_of: whether a file is one of those that weights are stored in.
#pragma once

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <precast/io/component_source.hpp>

namespace precast::families {

/// Whether `file` is one of the files of `weights`, under any name.
inline bool is_file_of(const io::ComponentSource& weights, const std::filesystem::path& file) {
  return std::ranges::any_of(weights.files(), [&](const io::TensorFile& own) {
    std::error_code ignored;
    return std::filesystem::equivalent(own.path(), file, ignored);
  });
}

}  // namespace precast::families
