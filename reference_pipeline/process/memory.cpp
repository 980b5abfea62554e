// Reads /proc, limits and what control groups leave.
#include <algorithm>
#include <fstream>
#include <string>

#include <process/control_group.hpp>
#include <process/memory.hpp>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

namespace precast::process {

namespace {

std::optional<std::int64_t> available_to_system() {
  std::ifstream stream("/proc/meminfo");
  std::string name, unit;
  std::int64_t kilobytes = 0;
  while (stream >> name >> kilobytes && std::getline(stream, unit))
    if (name == "MemAvailable:") return kilobytes * 1024;
  return std::nullopt;
}

std::optional<std::int64_t> left_in_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  std::ifstream stream("/proc/self/statm");
  std::int64_t pages = 0;
  if (!(stream >> pages)) return std::nullopt;
  return std::max<std::int64_t>(static_cast<std::int64_t>(limit.rlim_cur) - pages * sysconf(_SC_PAGESIZE), 0);
}

}  // namespace

void configure_heap() {
#if defined(__GLIBC__)
  ::mallopt(M_ARENA_MAX, 1);
  // Vectors of a few MiB, such as convert's, stay on the heap; pictures and other large blocks are mapped
  // and unmapped when freed, and so are tensors from 1 MiB on (memory/memory.hpp).
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

void give_back_memory() {
  release_cached_memory();
#if defined(__GLIBC__)
  if (!DryRun::active()) ::malloc_trim(0);
#endif
}

std::int64_t resident_memory() {
  std::ifstream stream("/proc/self/statm");
  std::int64_t pages = 0, resident = 0;
  return stream >> pages >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::int64_t peak_resident_memory() {
  std::ifstream stream("/proc/self/status");
  std::string name, unit;
  while (stream >> name) {
    std::int64_t kilobytes = 0;
    if (name == "VmHWM:" && stream >> kilobytes) return kilobytes * 1024;
    std::getline(stream, unit);
  }
  return 0;
}

std::optional<std::int64_t> free_memory(std::int64_t processes) {
  std::optional<std::int64_t> least = left_in_address_space();  // of this process alone
  for (const auto& bytes : {available_to_system(), left_to_control_groups()})
    if (bytes && (!least || *bytes / processes < *least)) least = *bytes / processes;
  return least;
}

}  // namespace precast::process
