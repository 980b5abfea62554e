// MemoryCounter: counts the memory of a thread instead of allocating it, in a dry run (memory/dry_run.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace precast {

/// While one is active, its thread's tensors have sizes and no memory.
class MemoryCounter {
 public:
  enum class Counts : bool { host_memory, device_memory };

  /// The counter of the calling thread, or null.
  static MemoryCounter* active() { return current(); }

  /// Counts a block of host or device memory, and returns an address for it.
  virtual void* allocate(std::size_t bytes, Counts where) = 0;
  /// Subtracts such a block; does nothing where no counter is active.
  static void deallocate(std::size_t bytes, Counts where) noexcept {
    if (current()) current()->take_back(bytes, where);
  }
  /// Whether a dry run made this address, at which no machine has memory.
  static bool made(const void* block) { return reinterpret_cast<std::uintptr_t>(block) >= first_address; }

  MemoryCounter(const MemoryCounter&) = delete;
  MemoryCounter& operator=(const MemoryCounter&) = delete;

 protected:
  // Beyond what x86-64 and AArch64 processors can address: an access by mistake faults.
  static constexpr std::uintptr_t first_address = std::uintptr_t{1} << 62;

  MemoryCounter() = default;
  ~MemoryCounter() = default;
  static MemoryCounter*& current() {
    static thread_local MemoryCounter* counter = nullptr;
    return counter;
  }

 private:
  virtual void take_back(std::size_t bytes, Counts where) noexcept = 0;
};

}  // namespace precast
