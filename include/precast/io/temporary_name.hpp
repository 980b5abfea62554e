// Names of files that are being written, and what killed programs left under such names.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/file_descriptor.hpp>

namespace precast::io {

/// A number for the machine that this runs on.
inline const std::string& number_of_machine() {
  static const std::string number = [] {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    std::uint32_t hash = 2166136261;  // FNV-1a
    for (const char* c = name; *c; ++c) hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619;
    return std::to_string(hash);
  }();
  return number;
}

/// A name that this process has not used: ".precast-MACHINE-PID-N.tmp".
inline std::string temporary_name() {
  static std::atomic<unsigned> next{0};
  return ".precast-" + number_of_machine() + "-" + std::to_string(::getpid()) + "-" + std::to_string(next++) +
         ".tmp";
}

/// The numbers of such a name, of any process, which earlier versions gave no machine: "PID-N". Nothing where
/// it is none.
inline std::optional<std::string_view> numbers_of_temporary_name(std::string_view name) {
  constexpr std::string_view begin = ".precast-", end = ".tmp";
  if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size())
    return std::nullopt;
  const std::string_view numbers = name.substr(begin.size(), name.size() - begin.size() - end.size());
  const auto dashes = std::count(numbers.begin(), numbers.end(), '-');
  const bool are_numbers = numbers.find_first_not_of("0123456789-") == std::string_view::npos &&
                           numbers.find("--") == std::string_view::npos && numbers.front() != '-' &&
                           numbers.back() != '-';
  if (!are_numbers || dashes < 1 || dashes > 2) return std::nullopt;
  return numbers;
}

/// Whether a file or folder has the name of what a killed writer may have left: of this machine, or untouched
/// for a day. Locks may not reach from one machine to another, so that another's do not say who is writing.
inline bool may_be_left_over(const std::filesystem::path& path) {
  const std::string name = path.filename().native();
  const auto numbers = numbers_of_temporary_name(name);
  if (!numbers) return false;
  if (std::count(numbers->begin(), numbers->end(), '-') == 1 ||
      numbers->starts_with(number_of_machine() + "-"))
    return true;
  std::error_code failed;
  const auto touched = std::filesystem::last_write_time(path, failed);
  return !failed && std::filesystem::file_time_type::clock::now() - touched > std::chrono::hours(24);
}

/// Marks an open temporary file as being written, for as long as it stays open. False where it was swept away
/// before that.
inline bool claim(const FileDescriptor& file) {
  struct stat facts {};
  file.lock();  // waits for a sweep, no longer; a file system without locks is not swept
  return ::fstat(file.get(), &facts) != 0 || facts.st_nlink > 0;
}

/// Removes the temporary files in a folder whose writers are gone: those that nobody has claimed. Does
/// nothing where the folder cannot be read.
inline void sweep_left_over_files(const std::filesystem::path& folder) {
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder.empty() ? "." : folder, failed), end;
       !failed && at != end; at.increment(failed)) {
    if (!may_be_left_over(at->path())) continue;
    const FileDescriptor file(::open(at->path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    struct stat facts {};
    if (!file.valid() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (file.try_lock()) ::unlink(at->path().c_str());
  }
}

}  // namespace precast::io
