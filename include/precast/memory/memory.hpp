// Aligned memory of the host, with counts of what is in use and at peak, and a small cache of large blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>

#include <precast/backend.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/error.hpp>
#include <precast/memory/aligned_block.hpp>
#include <precast/memory/block_cache.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/made_once.hpp>

namespace precast {

namespace detail {

/// Keeps large blocks that were freed, because the system hands out fresh pages zeroed, which for the results
/// of a wide layer costs as much as computing them.
class MemoryPool {
 public:
  static constexpr std::size_t alignment = 64;

  /// The pool. Its free blocks are given back at the end, for libraries that are unloaded.
  static MemoryPool& instance() {
    const auto make = [] {
      ::pthread_atfork(before_fork, after_fork, after_fork);
      return std::unique_ptr<MemoryPool>(new MemoryPool);
    };
    return made_once(made_, make, [] { made_.load()->release_cached(); });
  }
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// The size that a request is rounded up to: whole cache lines, or pages where blocks are large.
  static constexpr std::size_t rounded(std::size_t bytes) {
    const std::size_t step = bytes < BlockCache::smallest ? alignment : 4096;
    return ceil_divide(bytes, step) * step;
  }

  void* allocate(std::size_t bytes, MemoryPurpose purpose) {
    if (DryRun* const dry = DryRun::active()) return dry->allocate(bytes, DryRun::Counts::host_memory);
    void* block = nullptr;
    if (purpose == MemoryPurpose::tensor) {  // allocated once per thread, scratch would only evict blocks
      const std::lock_guard lock(mutex_);
      const auto give_back = [&](std::size_t other) { release(take_free(other), other); };
      if (cache_.take(bytes, use_.in_use, give_back)) block = take_free(bytes);
      use_.cached = cache_.held();
    }
    if (!block) block = from_system(bytes);
    if (!block) {
      release_cached();
      block = from_system(bytes);
    }
    if (!block)
      throw OutOfMemory("could not get " + in_bytes(static_cast<std::int64_t>(bytes)) + " of memory");
    const std::lock_guard lock(mutex_);
    held(purpose) += static_cast<std::int64_t>(bytes);
    if (use_.in_use > use_.peak) use_.peak = use_.in_use;
    note_held();
    return block;
  }

  void deallocate(void* block, std::size_t bytes, MemoryPurpose purpose) noexcept {
    if (DryRun::made(block)) return DryRun::deallocate(bytes, DryRun::Counts::host_memory);
    const std::lock_guard lock(mutex_);
    held(purpose) -= static_cast<std::int64_t>(bytes);
    if (purpose == MemoryPurpose::scratch || !kept(block, bytes)) release(block, bytes);
    use_.cached = cache_.held();
  }

  void release_cached() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& [bytes, block] : free_) release(block, bytes);
    free_.clear();
    cache_.clear();
    use_.cached = 0;
  }

  MemoryUse use() {
    const std::lock_guard lock(mutex_);
    return use_;
  }

  void reset_peak() {
    const std::lock_guard lock(mutex_);
    use_.peak = use_.in_use;
    use_.most_held = 0;
    note_held();
  }

 private:
  MemoryPool() = default;

  // A fork waits for the pool's lock, so that the child finds the pool consistent and unlocked. Both
  // handlers may be registered twice, and the pool may be made between them.
  static void before_fork() {
    MemoryPool* const pool = made_.load();
    if (!pool || held_by_fork()) return;
    pool->mutex_.lock();
    held_by_fork() = pool;
  }
  static void after_fork() {
    if (MemoryPool* const pool = std::exchange(held_by_fork(), nullptr)) pool->mutex_.unlock();
  }
  static MemoryPool*& held_by_fork() {
    static thread_local MemoryPool* held = nullptr;
    return held;
  }

  void note_held() {
    const std::int64_t held = use_.in_use + use_.cached + use_.scratch;
    if (held > use_.most_held) use_.most_held = held;
  }

  /// Takes a free block of that size, which must exist.
  void* take_free(std::size_t bytes) {
    const auto found = free_.find(bytes);
    void* const block = found->second;
    free_.erase(found);
    return block;
  }
  /// Keeps a freed block where the cache has room for it; returns whether it did.
  bool kept(void* block, std::size_t bytes) noexcept {
    if (!BlockCache::is_used() || bytes < BlockCache::smallest) return false;
    try {
      const auto place = free_.emplace(bytes, block);
      if (cache_.keep(bytes)) return true;
      free_.erase(place);
    } catch (const std::bad_alloc&) {  // one block less is kept
    }
    return false;
  }

  // Large blocks are mmapped: freeing one gives it back to the system, where malloc keeps holes of up to
  // 32 MiB each for later requests.
  static bool is_map(std::size_t bytes) { return BlockCache::is_used() && bytes >= BlockCache::smallest; }
  /// Null where there is no memory.
  static void* from_system(std::size_t bytes) noexcept {
    if (!is_map(bytes)) return aligned_block(bytes, alignment);
    void* const map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
    if (BlockCache::keeps_peak()) ::madvise(map, bytes, MADV_HUGEPAGE);  // where the system has them
#endif
    return map;
  }
  static void release(void* block, std::size_t bytes) noexcept {
    if (is_map(bytes))
      ::munmap(block, bytes);
    else
      free_aligned_block(block);
  }

  std::int64_t& held(MemoryPurpose purpose) {
    return purpose == MemoryPurpose::tensor ? use_.in_use : use_.scratch;
  }

  static inline std::atomic<MemoryPool*> made_{nullptr};

  std::mutex mutex_;
  BlockCache cache_;
  std::multimap<std::size_t, void*> free_;  // the blocks that it counts
  MemoryUse use_;
};

}  // namespace detail

/// The memory that is held now, and the peaks since the start or the last reset.
inline MemoryUse memory_use() { return detail::MemoryPool::instance().use(); }
/// Starts the peak anew from what is in use now.
inline void reset_peak_memory() { detail::MemoryPool::instance().reset_peak(); }
/// Gives cached blocks back to the system.
inline void release_cached_memory() {
  if (DryRun* const dry = DryRun::active()) return dry->release_cached();
  detail::MemoryPool::instance().release_cached();
}

/// Memory of the host, as tensors and scratch use it. Every Memory has these members.
struct HostMemory {
  /// What deallocate() needs to know about an allocation: nothing here.
  struct Origin {};
  using space = HostSpace;
  /// Whether the host can access it.
  static constexpr bool on_host = true;
  static constexpr std::size_t rounded(std::size_t bytes) { return detail::MemoryPool::rounded(bytes); }
  /// Throws OutOfMemory.
  static void* allocate(std::size_t bytes, MemoryPurpose purpose, Origin&) {
    return detail::MemoryPool::instance().allocate(bytes, purpose);
  }
  static void deallocate(void* block, std::size_t bytes, MemoryPurpose purpose, const Origin&) noexcept {
    detail::MemoryPool::instance().deallocate(block, bytes, purpose);
  }
  /// note_written() records that the work queued so far writes a block; wait_for_upload() makes the current
  /// work wait for that. Both do nothing here, where work is done when it returns.
  struct Upload {};
  static void note_written(Origin&) {}
  static Upload upload_of(const Origin&) { return {}; }
  static void wait_for_upload(const Upload&) {}
  static void wait_for_context(const Origin&) {}
  static int device_of(const Origin&) { return 0; }
  /// Copies within the memory, from the host into it, and from it to the host.
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes && !DryRun::active()) std::memcpy(to, from, bytes);
  }
  static void copy_from_host(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
  static void copy_to_host(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
};

namespace host {
using Memory = HostMemory;
}

using Buffer = BufferIn<HostMemory>;

}  // namespace precast
