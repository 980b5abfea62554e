#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include <process/control_group.hpp>

namespace precast::process {

namespace {

namespace fs = std::filesystem;

/// The names of the same files and numbers in either version.
struct Names {
  const char *limit, *used, *inactive_pages, *active_pages;
};
constexpr Names version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                          "total_active_file"};
constexpr Names version_2{"memory.max", "memory.current", "inactive_file", "active_file"};

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::int64_t value = 0;
  if (stream >> value) return value;
  return std::nullopt;  // missing, or "max"
}

std::int64_t pages_of_files(const fs::path& group, const Names& names) {
  std::ifstream stream(group / "memory.stat");
  std::string name;
  std::int64_t bytes = 0, sum = 0;
  while (stream >> name >> bytes)
    if (name == names.inactive_pages || name == names.active_pages) sum += bytes;
  return sum;
}

std::optional<std::int64_t> left_to_one(const fs::path& group, const Names& names) {
  // Version 1 reports no limit as the largest multiple of a page.
  constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max() - (1 << 20);
  const auto limit = number_in(group / names.limit), used = number_in(group / names.used);
  if (!limit || !used || *limit >= no_limit) return std::nullopt;
  return std::clamp<std::int64_t>(*limit - *used + pages_of_files(group, names), 0, *limit);
}

void keep_least(std::optional<std::int64_t>& least, std::optional<std::int64_t> left) {
  if (left && (!least || *left < *least)) least = left;
}

/// The least that the group of that path and those above it leave. A container's own group may be the root
/// of the mount, while its path is that on the host.
std::optional<std::int64_t> left_along(const fs::path& mounted, std::string_view path, const Names& names) {
  std::optional<std::int64_t> least;
  for (fs::path below = fs::path(path).relative_path(); !below.empty(); below = below.parent_path())
    keep_least(least, left_to_one(mounted / below, names));
  keep_least(least, left_to_one(mounted, names));
  return least;
}

bool has_controller(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == wanted) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> left_to_control_groups(const fs::path& groups, const fs::path& mounted) {
  std::optional<std::int64_t> least =
      left_along(mounted, "/", version_2);  // also where groups cannot be read
  std::ifstream stream(groups);
  // "HIERARCHY:CONTROLLERS:PATH"; version 2 has no controllers.
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1),
                           path = std::string_view(line).substr(second + 1);
    std::optional<std::int64_t> left;
    if (controllers.empty()) {
      // On a system with version 1, the groups of version 2 are mounted in a folder of their own.
      for (const fs::path& root : {mounted, mounted / "unified"})
        if (!left) left = left_along(root, path, version_2);
    } else if (has_controller(controllers, "memory")) {
      left = left_along(mounted / "memory", path, version_1);
    }
    keep_least(least, left);
  }
  return least;
}

}  // namespace precast::process
