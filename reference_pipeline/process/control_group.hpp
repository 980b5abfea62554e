// The memory that this process's control groups (of containers, of Slurm's jobs) leave.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace precast::process {

/// The fewest bytes that the control group of this process or any above it leaves; nothing where none has a
/// limit. Pages of files, which the kernel takes back when it needs them, count as left, as in
/// MemAvailable. Both kinds are read: version 2, and the memory controller of version 1. `groups` is a file
/// as /proc/self/cgroup, `mounted` where the groups are.
std::optional<std::int64_t> left_to_control_groups(const std::filesystem::path& groups = "/proc/self/cgroup",
                                                   const std::filesystem::path& mounted = "/sys/fs/cgroup");

}  // namespace precast::process
