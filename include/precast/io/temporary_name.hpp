// Names of files that are being written, and what killed programs left under such names.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/mapped_file.hpp>

namespace precast::io {

/// A name that this process has not used: ".precast-PID-N.tmp".
inline std::string temporary_name() {
  static std::atomic<unsigned> next{0};
  return ".precast-" + std::to_string(::getpid()) + "-" + std::to_string(next++) + ".tmp";
}

/// Whether a name is one of those, of any process.
inline bool is_temporary_name(std::string_view name) {
  constexpr std::string_view begin = ".precast-", end = ".tmp";
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size())
    return false;
  const std::string_view numbers = name.substr(begin.size(), name.size() - begin.size() - end.size());
  const std::size_t dash = numbers.find('-');
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dash != std::string_view::npos && digits(numbers.substr(0, dash)) &&
         digits(numbers.substr(dash + 1));
}

/// Marks an open temporary file as being written, for as long as it stays open. False where it was swept away
/// before that.
inline bool claim(int descriptor) {
  struct stat facts {};
  ::flock(descriptor, LOCK_EX);  // waits for a sweep, no longer; a file system without locks is not swept
  return ::fstat(descriptor, &facts) != 0 || facts.st_nlink > 0;
}

/// Removes the temporary files in a folder whose writers are gone: those that nobody has claimed. Does
/// nothing where the folder cannot be read.
inline void sweep_left_over_files(const std::filesystem::path& folder) {
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, failed), end;
       !failed && at != end; at.increment(failed)) {
    if (!is_temporary_name(at->path().filename().native())) continue;
    const FileDescriptor file(::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    struct stat facts {};
    if (!file.valid() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(at->path().c_str());
  }
}

}  // namespace precast::io
