// FileDescriptor: an open file or folder, and the lock on it that keeps other processes away.
#pragma once

#include <cerrno>
#include <filesystem>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace precast::io {

/// Closes a file descriptor. Move only.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }
  /// Closes now and returns what close() returned, because a file system may report a failed write only here.
  int close() { return ::close(std::exchange(descriptor_, -1)); }

  /// Locks the file for as long as it stays open here, after whoever has it locked. False where its file
  /// system has no locks.
  bool lock() const {
    while (::flock(descriptor_, LOCK_EX) != 0)
      if (errno != EINTR) return false;
    return true;
  }
  /// Locks the file as lock() does, unless somebody else has it locked. Whether it did.
  bool try_lock() const { return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0; }
  /// Locks the file as try_lock() does. Whether somebody else has it locked: not where its file system has no
  /// locks, which leaves it to the user to start one program at a time.
  bool is_locked_by_another() const { return valid() && !try_lock() && errno == EWOULDBLOCK; }

  /// Whether a path leads to this file: another may have been renamed over it since it was opened.
  bool is_at(const std::filesystem::path& path) const {
    struct stat own {
    }, named{};
    return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace precast::io
