#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include <simt/runtime/recorder.hpp>
#include <simt/runtime/transfer.hpp>
#include <simt/transfer.hpp>

namespace simt {

namespace {

struct Upload {
  std::uint64_t number = 0;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::vector<std::byte> as_started;
};

class Uploads {
 public:
  static Uploads& instance() {
    static Uploads uploads;
    return uploads;
  }

  void* allocate_pinned(std::size_t bytes) {
    auto* const block = static_cast<std::byte*>(::operator new(bytes));
    const std::lock_guard lock(mutex_);
    pinned_.emplace(block, bytes);
    return block;
  }
  void free_pinned(void* block) noexcept {
    land(~std::uint64_t{0});
    const std::lock_guard lock(mutex_);
    pinned_.erase(static_cast<const std::byte*>(block));
    ::operator delete(block);
  }

  void start(std::byte* to, const std::byte* from, std::size_t bytes, Copies landing) {
    {
      const std::lock_guard lock(mutex_);
      pending_.push_back({++started_, to, from, {from, from + bytes}});
      if (landing == Copies::late && is_pinned(from, bytes)) return;
    }
    land(~std::uint64_t{0});  // in the order of the stream
  }
  std::uint64_t started() {
    const std::lock_guard lock(mutex_);
    return started_;
  }
  void land(std::uint64_t mark) noexcept {
    const std::lock_guard lock(mutex_);
    if (pending_.empty() || pending_.front().number > mark) return;
    const runtime::OpenDevice open;
    for (; !pending_.empty() && pending_.front().number <= mark; pending_.pop_front()) {
      const Upload& upload = pending_.front();
      changed_ |= std::memcmp(upload.from, upload.as_started.data(), upload.as_started.size()) != 0;
      std::memcpy(upload.to, upload.from, upload.as_started.size());
    }
  }
  void check() {
    {
      const std::lock_guard lock(mutex_);
      if (!changed_) return;
    }
    land(~std::uint64_t{0});  // one error for all of them
    const std::lock_guard lock(mutex_);
    changed_ = false;
    throw HostMemoryChanged("the host wrote to pinned memory before a copy to the device had read it");
  }

 private:
  bool is_pinned(const std::byte* from, std::size_t bytes) const {
    const auto after = pinned_.upper_bound(from);
    if (after == pinned_.begin()) return false;
    const auto& [block, size] = *std::prev(after);
    return from + bytes <= block + size;
  }

  std::mutex mutex_;
  std::deque<Upload> pending_;
  std::map<const std::byte*, std::size_t> pinned_;
  std::uint64_t started_ = 0;
  bool changed_ = false;
};

Options options() { return Recorder::session() ? Recorder::session()->options() : Options{}; }

}  // namespace

void runtime::land_uploads() noexcept { Uploads::instance().land(~std::uint64_t{0}); }
void runtime::check_uploads() { Uploads::instance().check(); }

void* allocate_pinned(std::size_t bytes) { return Uploads::instance().allocate_pinned(bytes); }
void free_pinned(void* block) noexcept { Uploads::instance().free_pinned(block); }

void start_upload(void* to, const void* from, std::size_t bytes) {
  Recorder::count_upload();
  Uploads::instance().start(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes,
                            options().copies);
  runtime::check_uploads();
}

std::uint64_t mark_uploads() { return Uploads::instance().started(); }

void wait_for_uploads(std::uint64_t mark) {
  Recorder::count_wait();
  if (options().waits_for_uploads) Uploads::instance().land(mark);
  runtime::check_uploads();
}

void wait_for_device() {
  Recorder::count_wait();
  runtime::land_uploads();
  runtime::check_uploads();
}

}  // namespace simt
