// DryRun: the same code on the same shapes, with memory that is counted and not taken, and without its work.
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
/// memory/memory.hpp and of a device would count them, and give addresses that nobody can read; copies, loads
/// and the tasks of parallel_for do nothing. What remains of a model's code is what decides how much memory
/// it takes. Code that reads or writes values outside of an op asks `active()` and leaves that out.
class DryRun final : public MemoryCounter {  // NOLINT(cppcoreguidelines-virtual-class-destructor): final
 public:
  /// Counts the memory of one of the two; what lies in the other is not taken either.
  explicit DryRun(Counts counts = Counts::host_memory)
      : counts_(counts), before_(std::exchange(current(), this)) {}
  ~DryRun() { current() = before_; }

  /// The calling thread's, or null.
  static DryRun* active() { return static_cast<DryRun*>(current()); }

  void* allocate(std::size_t bytes, Counts where) override {
    const std::uintptr_t address = next_;
    next_ += (bytes + 4095) / 4096 * 4096;
    if (where == counts_) count(bytes);
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  /// What threads hold while they run `tasks` tasks, each of them `bytes`: counted with what is in use now.
  void in_tasks(std::int64_t tasks, int threads, std::int64_t bytes) {
    if (counts_ == Counts::device_memory) return;
    in_tasks_ = std::min<std::int64_t>(tasks, threads) * bytes;
    note();
    in_tasks_ = 0;
  }
  /// Memory that threads keep after their tasks: `Use` names it, and its largest size counts.
  template <class Use>
  void kept_by_threads(std::int64_t tasks, int threads, std::int64_t bytes) {
    kept<Use>(std::min<std::int64_t>(tasks, threads) * bytes, Counts::host_memory);
  }
  /// Memory beside tensors that is kept once it was taken: `Use` names it, and its largest size counts.
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
  /// Memory beside tensors, as DryHold counts it. Negative to give it back.
  void hold(std::int64_t bytes) {
    if (counts_ == Counts::device_memory) return;
    held_ += bytes;
    note();
  }
  /// Free blocks go back to the system.
  void release_cached() { cache_.clear(); }

  std::int64_t in_use() const { return in_use_; }
  /// The most that was held at once since the last `restart_peak`: in use, free in the pool, kept.
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

/// Memory beside tensors that a dry run counts for as long as this lives: images, pages of mapped files.
/// Outside of dry runs, nothing.
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
