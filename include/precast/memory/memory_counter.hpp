// MemoryCounter: who counts the memory of a thread instead of taking it, in a dry run (memory/dry_run.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace precast {

/// While one is active, its thread's tensors have sizes and no memory.
class MemoryCounter {
 public:
  enum class Counts : bool { host_memory, device_memory };

  /// The calling thread's, or null.
  static MemoryCounter* active() { return current(); }

  /// Counts a block of the host's or a device's memory, and gives an address for it.
  virtual void* allocate(std::size_t bytes, Counts where) = 0;
  /// Takes such a block back; where nobody counts any more, does nothing.
  static void deallocate(std::size_t bytes, Counts where) noexcept {
    if (current()) current()->take_back(bytes, where);
  }
  /// Whether a dry run made this address. On no machine is memory there.
  static bool made(const void* block) { return reinterpret_cast<std::uintptr_t>(block) >= first_address; }

  MemoryCounter(const MemoryCounter&) = delete;
  MemoryCounter& operator=(const MemoryCounter&) = delete;

 protected:
  // Beyond what an x86-64 or AArch64 processor addresses: whoever reads a value by mistake stops there.
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
