// Memory that is kept back so that an exception for want of memory can be unwound.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>

#include <sys/mman.h>

namespace precast::io {

/// Addresses, without memory behind them, that this thread's first failed `new` gives back before it throws
/// std::bad_alloc. Destructors that allocate would end the program without: nlohmann's of a JSON value does.
/// May be nested; lives on the stack of one thread. Throws std::bad_alloc where not even that much is left.
class MemoryReserve {
 public:
  explicit MemoryReserve(std::size_t bytes)
      : bytes_(bytes),
        addresses_(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        outer_(innermost_) {
    if (addresses_ == MAP_FAILED) throw std::bad_alloc();
    const std::lock_guard lock(mutex_);
    if (instances_++ == 0) before_ = std::set_new_handler(give_back);
    innermost_ = this;
  }
  ~MemoryReserve() {
    innermost_ = outer_;
    release();
    const std::lock_guard lock(mutex_);
    if (--instances_ == 0) std::set_new_handler(before_);
  }
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

 private:
  void release() noexcept {
    if (addresses_) ::munmap(addresses_, bytes_);
    addresses_ = nullptr;
  }
  /// The new handler: not mutex_'s, which a thread holds that allocates nothing.
  static void give_back() {
    for (MemoryReserve* reserve = innermost_; reserve; reserve = reserve->outer_)
      if (reserve->addresses_) {
        reserve->release();
        throw std::bad_alloc();
      }
    if (before_) return before_();
    throw std::bad_alloc();
  }

  inline static std::mutex mutex_;
  inline static int instances_ = 0;
  inline static std::new_handler before_ = nullptr;
  inline static thread_local MemoryReserve* innermost_ = nullptr;

  std::size_t bytes_;
  void* addresses_;
  MemoryReserve* outer_;
};

}  // namespace precast::io
