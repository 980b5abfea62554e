// Errors of picture files whose size is impossible or too large.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <image/image.hpp>

#include <precast/io/message.hpp>

namespace precast::image {

inline std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

inline io::FileError too_large(const std::filesystem::path& name, std::int64_t width, std::int64_t height) {
  return io::file_error(name, "the picture is " + size_text(width, height) + " pixels, and sides up to " +
                                  std::to_string(max_side) + " are supported: make it smaller");
}

inline io::FileError cannot_hold(const std::filesystem::path& name, std::string_view kind, std::size_t bytes,
                                 std::int64_t width, std::int64_t height) {
  return io::file_error(name, "broken " + std::string(kind) + " picture (" + std::to_string(bytes) +
                                  " bytes cannot hold " + size_text(width, height) +
                                  " pixels): get it again");
}

}  // namespace precast::image
