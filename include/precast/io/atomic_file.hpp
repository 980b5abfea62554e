// AtomicFile: a file that appears whole or not at all.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/temporary_name.hpp>

namespace precast::io {

/// While it lives, a write beyond the limit on file sizes fails with EFBIG in this thread, like one to a full
/// disk, instead of ending the process with SIGXFSZ.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld() {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &previous_);
  }
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;
  ~FileSizeSignalHeld() {
    const int error_number = errno;
    const timespec at_once{};
    // One that came in the meantime must not wait for the mask to fall.
    if (!::sigismember(&previous_, SIGXFSZ))
      while (::sigtimedwait(&signal_, nullptr, &at_once) == SIGXFSZ) continue;
    ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    errno = error_number;
  }

 private:
  sigset_t signal_{};
  sigset_t previous_{};
};

/// The file that a name stands for: what links lead to, whether it is there or not. Throws InputError for
/// links that lead in a circle.
inline std::filesystem::path followed_link(const std::filesystem::path& name) {
  constexpr int most_links = 40;  // as Linux has it
  struct stat facts {};
  // A pipe's link in /proc holds words that lead nowhere.
  if (::stat(name.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) return name;
  std::filesystem::path at = name;
  for (int links = 0; links <= most_links; ++links) {
    std::error_code failed;
    const std::filesystem::path next = std::filesystem::read_symlink(at, failed);
    if (failed) return at;
    at = at.parent_path() / next;  // which is `next` alone where that begins at the root
  }
  throw system_error(name, "cannot be written", ELOOP, "remove the link, or name another file");
}

/// What becomes of a file that has the name already.
enum class OldFile : bool {
  replaced,
  kept  ///< also one that appears while the new one is written
};

/// Writes to a temporary name in the target's folder; `commit` brings it to the disk and gives it its real
/// name, in one step. Destroyed without a commit (an exception, Ctrl-C as one, a full disk), it removes what
/// it wrote and leaves an older target as it was. A link stays a link: what it leads to is written. A file
/// that is replaced hands on its permissions; one that nobody may write is not replaced. Every member throws
/// InputError that names the target.
class AtomicFile {
 public:
  /// Opens the temporary file, so an unwritable place is found before anything is computed for it.
  explicit AtomicFile(const std::filesystem::path& target, OldFile old = OldFile::replaced)
      : target_(followed_link(target)), old_(old) {
    if (target_.empty()) throw InputError("the name of a file to write is empty: give one");
    struct stat facts {};
    const bool exists = ::stat(target_.c_str(), &facts) == 0;
    // The temporary file's name is short: that the real one is too long would show only at the end.
    if (!exists && errno == ENAMETOOLONG)
      throw system_error(target_, "cannot be written", errno, "give a shorter name");
    if (exists && !S_ISREG(facts.st_mode))
      throw file_error(target_, S_ISDIR(facts.st_mode) ? "is a folder: name a file to write"
                                                       : "is not a regular file: name another one to write");
    if (exists && old_ == OldFile::kept) refuse_to_replace();
    if (!target_.has_filename()) throw file_error(target_, "does not name a file to write");
    // A rename needs no permission of the file, and root needs none at all: what is read-only was made so.
    if (exists && ((facts.st_mode & 0222) == 0 || (::access(target_.c_str(), W_OK) != 0 && errno != EROFS)))
      throw file_error(target_,
                       "exists and is read-only: make it writable (chmod u+w), or name another file");
    const std::filesystem::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
    for (int attempt = 0; attempt < most_attempts && !file_.valid(); ++attempt) {
      temporary_ = folder / temporary_name();
      file_ = FileDescriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (!file_.valid() && errno != EEXIST)
        throw system_error(
            target_, "cannot be written", errno,
            errno == ENOENT ? "create its folder, or choose another place" : "choose another place");
      if (file_.valid() && !claim(file_)) file_ = {};  // somebody who sweeps was faster: another name
    }
    if (!file_.valid())
      throw file_error(target_,
                       "cannot be written: its folder is full of left-over .precast files: remove them");
    if (exists) keep_permissions(facts);
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() {
    if (!committed_) ::unlink(temporary_.c_str());
  }

  const std::filesystem::path& target() const { return target_; }

  void write(std::span<const std::byte> bytes) {
    const FileSizeSignalHeld held;
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), std::min(bytes.size(), largest_write));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }

  /// Brings what was written to the disk, where a full one may only now say so. `commit` does it, too: for
  /// who has something to do between the two.
  void sync() {
    if (::fsync(file_.get()) != 0 && errno != EINVAL) fail(errno);  // EINVAL: a file system that cannot
  }

  /// Makes the file appear under its name. May be called once, at the end.
  void commit() {
    sync();
    if (file_.close() != 0) fail(errno);
    give_name();
  }
  /// The same, but the file stays open to be written on: locked since before it had its name.
  FileDescriptor commit_open() {
    sync();
    give_name();
    return std::move(file_);
  }

 private:
  static constexpr int most_attempts = 1000;
  static constexpr std::size_t largest_write = std::size_t{1} << 30;

  /// As far as this process may: the owner of a file is changed by root alone.
  void keep_permissions(const struct stat& facts) const {
    if (facts.st_uid != ::geteuid() || facts.st_gid != ::getegid())
      static_cast<void>(!::fchown(file_.get(), facts.st_uid, facts.st_gid));
    ::fchmod(file_.get(), facts.st_mode & 0777);
  }

  void give_name() {
    rename();
    committed_ = true;
    // The rename itself survives a power cut only once the folder is on the disk; the file is whole either
    // way.
    const FileDescriptor folder(::open(temporary_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.valid()) ::fsync(folder.get());
  }

  void rename() const {
    if (old_ == OldFile::kept) {
      if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0) return;
      if (errno == EEXIST) refuse_to_replace();
      if (errno != EINVAL && errno != ENOSYS) fail(errno);
      struct stat facts {};  // a file system that cannot rename so: look, as close to it as can be
      if (::lstat(target_.c_str(), &facts) == 0) refuse_to_replace();
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  }

  [[noreturn]] void refuse_to_replace() const {
    throw file_error(target_, "already exists, and is not to be replaced: give another name");
  }

  [[noreturn]] void fail(int error_number) const { throw write_error(target_, error_number); }

  std::filesystem::path target_;
  OldFile old_;
  std::filesystem::path temporary_;
  FileDescriptor file_;
  bool committed_ = false;
};

/// Writes a whole file through AtomicFile.
inline void write_file(const std::filesystem::path& target, std::string_view text,
                       OldFile old = OldFile::replaced) {
  AtomicFile file(target, old);
  file.write(text);
  file.commit();
}

}  // namespace precast::io
