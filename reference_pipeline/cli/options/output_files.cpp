// Compares files by their folder's inode and their name, not by the spelling of paths.
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/terminal/output.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/atomic_file.hpp>
#include <precast/io/message.hpp>
#include <precast/io/suffix.hpp>

namespace precast::cli {

namespace {

namespace fs = std::filesystem;

/// Identifies a file under all its paths: device and inode of the folder, and the file's name.
using Place = std::tuple<dev_t, ino_t, std::string>;
Place place_of(const fs::path& file) {
  struct stat facts {};
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (::stat(folder.c_str(), &facts) != 0) return {0, 0, file.string()};
  return {facts.st_dev, facts.st_ino, file.filename().string()};
}

/// Which standard stream is redirected to the file, "" if none: replacing the file would lose its output.
std::string_view stream_redirected_to(const fs::path& file) {
  struct stat facts {
  }, of_stream{};
  if (::stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  for (const auto& [descriptor, name] :
       {std::pair(STDOUT_FILENO, "standard output"), {STDERR_FILENO, "standard error"}})
    if (::fstat(descriptor, &of_stream) == 0 && facts.st_dev == of_stream.st_dev &&
        facts.st_ino == of_stream.st_ino)
      return name;
  return {};
}

}  // namespace

bool is_standard_output(const fs::path& name) { return name == "-" || name == "/dev/stdout"; }

void check_names_file(std::string_view option, const std::string& name, std::string_view what) {
  if (is_standard_output(name))
    throw UsageError(std::string(option) + " is '" + io::printable(name) + "': name a file for " +
                     std::string(what));
}

void check_page_name(std::string_view option, const std::string& name) {
  const std::string suffix = io::suffix_of(name);
  if (name.empty() || is_standard_output(name) || suffix == ".html" || suffix == ".htm") return;
  throw UsageError(std::string(option) + " is '" + io::printable(name) +
                   "': it is an HTML page: name one that ends in .html");
}

void check_not_redirected_to(const fs::path& file) {
  if (const std::string_view stream = stream_redirected_to(file); !stream.empty())
    throw UsageError(io::shown(file) + " is where " + std::string(stream) +
                     " goes, and would be replaced: give one of them another file");
}

void check_output_files(std::span<const fs::path> files) {
  std::set<Place> places;
  std::set<fs::path> folders;
  for (const fs::path& name : files) {
    if (is_standard_output(name)) {
      if (::isatty(STDOUT_FILENO))
        throw UsageError(
            "standard output is a terminal, where a picture makes no sense: redirect it, or name a file");
      continue;
    }
    const fs::path file = io::followed_link(name);
    if (folders.insert(file.parent_path()).second) io::sweep_left_over_files(file.parent_path());
    check_not_redirected_to(name);
    const io::AtomicFile probe(name);  // creates a temporary file in the same folder, and removes it
    if (!places.insert(place_of(file)).second)
      throw UsageError(io::shown(name) + " would be written twice: give each output a name of its own");
  }
}

void write_output(const fs::path& name, std::span<const std::byte> bytes, io::OldFile old) {
  if (is_standard_output(name)) return print(bytes);
  io::AtomicFile file(name, old);
  file.write(bytes);
  file.commit();
}

}  // namespace precast::cli
