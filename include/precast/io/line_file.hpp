// LineFile: a text file that grows by whole lines.
#pragma once

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <precast/io/atomic_file.hpp>

namespace precast::io {

/// A file that lines are added to while a run goes on: who reads it, or kills the run, finds whole lines
/// alone, and a disk that fills up leaves those that were there. Members throw InputError that names the
/// file.
class LineFile {
 public:
  /// Replaces the file by `kept`, in one step, and opens it. It is this one's for as long as this lives:
  /// another's is left as it is.
  explicit LineFile(const std::filesystem::path& path, std::string_view kept = {})
      : path_(followed_link(path)),  // of a descriptor in /proc, what it was opened as
        size_(static_cast<off_t>(kept.size())) {
    // Until the new one, which is locked too, has its name. One that appears meanwhile is another run's.
    const std::optional<FileDescriptor> old = locked_old();
    AtomicFile file(path_, old ? OldFile::replaced : OldFile::kept);
    file.write(kept);
    file_ = file.commit_open();
    ::fcntl(file_.get(), F_SETFL, O_APPEND);
  }

  /// Adds a line, which has no newline of its own.
  void append(std::string_view line) {
    const std::string text = std::string(line) + "\n";
    const FileSizeSignalHeld held;
    std::size_t written = 0;
    while (written < text.size()) {
      const ssize_t count = ::write(file_.get(), text.data() + written, text.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const int error_number = errno;
        static_cast<void>(!::ftruncate(file_.get(), size_));
        throw write_error(path_, error_number);
      }
      written += static_cast<std::size_t>(count);
    }
    size_ += static_cast<off_t>(text.size());
  }

 private:
  /// The file that is there, locked, or not valid where it cannot be opened; nothing where there is none.
  std::optional<FileDescriptor> locked_old() const {
    for (;;) {
      FileDescriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      if (!file.valid() && errno == ENOENT) return std::nullopt;
      if (file.is_locked_by_another())
        throw file_error(path_, "another run is writing it: wait until it ends, or name another file");
      if (!file.valid() || file.is_at(path_)) return file;  // else another run has just replaced it
    }
  }

  std::filesystem::path path_;
  off_t size_ = 0;
  FileDescriptor file_;
};

}  // namespace precast::io
