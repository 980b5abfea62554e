// DryRun: the same code on the same shapes, with memory counted instead of allocated, and without the work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include <precast/memory/block_cache.hpp>
#include <precast/memory/memory_counter.hpp>

namespace precast {

/// While one lives, its thread's tensors have sizes and no memory: allocations are counted as the pools of
/// memory/memory.hpp and of a device would count them, and return addresses that cannot be accessed;
/// copies, loads and the tasks of parallel_for do nothing. The rest of a model's code runs, and decides how
/// much memory it takes. Code that accesses values outside of an op must skip that while `active()`.
class DryRun final : public MemoryCounter {  // NOLINT(cppcoreguidelines-virtual-class-destructor): final
 public:
  /// Counts the memory of the host or of a device; the other is not allocated either.
  explicit DryRun(Counts counts = Counts::host_memory)
      : counts_(counts), before_(std::exchange(current(), this)) {}
  ~DryRun() { current() = before_; }

  /// The DryRun of the calling thread, or null.
  static DryRun* active() { return static_cast<DryRun*>(current()); }

  void* allocate(std::size_t bytes, Counts where) override {
    const std::uintptr_t address = next_;
    next_ += (bytes + 4095) / 4096 * 4096;
    if (where == counts_) count(bytes);
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  /// Counts the memory of threads that run `tasks` tasks of `bytes` each, on top of what is in use now.
  void in_tasks(std::int64_t tasks, int threads, std::int64_t bytes) {
    if (counts_ == Counts::device_memory) return;
    in_tasks_ = std::min<std::int64_t>(tasks, threads) * bytes;
    note();
    in_tasks_ = 0;
  }
  /// Counts memory that threads keep after their tasks: the largest size for each `Use`.
  template <class Use>
  void kept_by_threads(std::int64_t tasks, int threads, std::int64_t bytes) {
    kept<Use>(std::min<std::int64_t>(tasks, threads) * bytes, Counts::host_memory);
  }
  /// Counts memory beside tensors that is kept once allocated: the largest size for each `Use`.
  template <class Use>
  void kept(std::int64_t size, Counts where) {
    if (where != counts_) return;
    static const char use = 0;
    std::int64_t& most = kept_[&use];
    if (size <= most) return;
    kept_sum_ += size - most;
    most = size;
    note();
  }
  /// Counts memory beside tensors, as DryHold does; negative to free it.
  void hold(std::int64_t bytes) {
    if (counts_ == Counts::device_memory) return;
    held_ += bytes;
    note();
  }
  /// Runs `body`. Returns the most bytes that it held at once beside those held before.
  template <class Body>
  std::int64_t most_taken_by(Body&& body) {
    const std::int64_t earlier = peak_;
    restart_peak();
    const std::int64_t before = peak_;
    body();
    const std::int64_t most = peak_ - before;
    peak_ = std::max(peak_, earlier);
    return most;
  }
  /// Gives the free blocks back to the system.
  void release_cached() { cache_.clear(); }

  std::int64_t in_use() const { return in_use_; }
  /// The most bytes held at once since the last `restart_peak`: in use, free in the pool, and kept.
  std::int64_t peak() const { return peak_; }
  void restart_peak() {
    peak_ = 0;
    note();
  }

 private:
  void take_back(std::size_t bytes, Counts where) noexcept override {
    if (where != counts_) return;
    const auto size = static_cast<std::int64_t>(bytes);
    in_use_ -= size;
    if (BlockCache::is_used() && where == Counts::host_memory) cache_.keep(bytes);
  }
  void count(std::size_t bytes) {
    const auto size = static_cast<std::int64_t>(bytes);
    cache_.take(bytes, in_use_, [](std::size_t) {});
    in_use_ += size;
    note();
  }
  void note() { peak_ = std::max(peak_, in_use_ + cache_.held() + in_tasks_ + kept_sum_ + held_); }

  Counts counts_;
  MemoryCounter* before_;
  std::uintptr_t next_ = first_address;
  BlockCache cache_;
  std::map<const void*, std::int64_t> kept_;
  std::int64_t in_use_ = 0, in_tasks_ = 0, kept_sum_ = 0, held_ = 0, peak_ = 0;
};

/// Counts memory beside tensors (images, pages of mapped files) in a dry run for as long as this lives. It
/// has no effect outside of dry runs.
class DryHold {
 public:
  DryHold() = default;
  explicit DryHold(std::int64_t bytes) { add(bytes); }
  DryHold(DryHold&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  DryHold& operator=(DryHold&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DryHold() { clear(); }

  void add(std::int64_t bytes) {
    DryRun* const run = DryRun::active();
    if (!run) return;
    bytes_ += bytes;
    run->hold(bytes);
  }
  void clear() {
    if (DryRun* const run = DryRun::active()) run->hold(-bytes_);
    bytes_ = 0;
  }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace precast
