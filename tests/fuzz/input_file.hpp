// Inputs as files: loaders take paths, and a fuzzer has bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include <support/temporary_folder.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <precast/io/mapped_file.hpp>

namespace precast::testing {

/// A file in memory, which no disk sees: thousands a second are made.
class InputFile {
 public:
  explicit InputFile(std::span<const std::byte> bytes) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
      if (count <= 0) throw std::runtime_error("a file in memory could not be written");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  io::FileDescriptor file_;
};

/// A copy of a folder of the repository, of which one file at a time is replaced by an input.
class InputFolder {
 public:
  InputFolder(const std::string& original, std::string replaced) : replaced_(std::move(replaced)) {
    std::filesystem::copy(std::filesystem::path(PRECAST_SOURCE_DIR) / original, path());
  }
  std::filesystem::path path() const { return folder_.path() / "folder"; }
  void put(std::span<const std::byte> bytes) const {
    std::filesystem::remove(path() / replaced_);  // as write_text does
    std::ofstream file(path() / replaced_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("an input could not be written: is the disk full?");
  }

 private:
  TemporaryFolder folder_;
  std::string replaced_;
};

}  // namespace precast::testing
