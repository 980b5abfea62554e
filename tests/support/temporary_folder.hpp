// TemporaryFolder: a folder for a test's files, removed with the object.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <stdlib.h>

#include <precast/error.hpp>

namespace precast::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "precast-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error("no temporary folder could be made: " + name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_text(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  // ext4 waits for the disk where a file is written over, and not for a new one.
  std::filesystem::remove(file);
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw Error("could not write " + file.string());
}

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error("could not read " + file.string());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace precast::testing
