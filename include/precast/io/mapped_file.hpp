// MappedFile: a file's bytes, read through the page cache instead of copied.
#pragma once

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/file_descriptor.hpp>
#include <precast/io/message.hpp>

namespace precast::io {

/// Whether the name is taken. A link that leads nowhere is there too, and so is what may not be looked at:
/// opening it says what is wrong with it.
inline bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() != std::filesystem::file_type::not_found;
}

/// A read-only memory map of a whole regular file. Move only; the bytes stay where they are when it moves.
/// The file must not shrink while it is mapped.
class MappedFile {
 public:
  /// Throws InputError where the path is missing, unreadable, not a regular file, or a pointer that git-LFS
  /// left in place of the file.
  explicit MappedFile(std::filesystem::path path) : path_(std::move(path)) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer for ever.
    const FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file.valid())
      throw system_error(path_, "cannot be opened", errno, "check the path and its permissions");
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0)
      throw system_error(path_, "cannot be read", errno, "check the disk that it is on");
    if (S_ISDIR(facts.st_mode))
      throw file_error(path_, "is a folder, where a file is needed: check the path");
    if (!S_ISREG(facts.st_mode)) throw file_error(path_, "is not a regular file: copy it to a file first");
    size_ = static_cast<std::size_t>(facts.st_size);
    if (size_ == 0) return;  // an empty map is an error to mmap
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED)
      throw system_error(path_, "cannot be mapped into memory", errno,
                         errno == ENOMEM ? "raise the limit on address space"
                                         : "copy it to a file system whose files can be");
    data_ = static_cast<const std::byte*>(address);
    if (is_pointer_of_git_lfs(text())) {
      ::munmap(address, size_);
      throw file_error(path_,
                       "is a git-LFS pointer, which stands for the file itself: run 'git lfs pull' in its "
                       "folder, or get the file again");
    }
  }
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedFile() {
    if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Lets go of the pages that were read, so that they no longer count as this process's memory. The bytes
  /// stay valid: they come back from the page cache when they are read again.
  void release_pages() const {
    if (data_) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  /// What `git clone` leaves in place of a large file where git-lfs is not installed: a text of three lines.
  static bool is_pointer_of_git_lfs(std::string_view text) {
    return text.size() < 1024 && text.starts_with("version https://git-lfs.github.com/spec/");
  }

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace precast::io
