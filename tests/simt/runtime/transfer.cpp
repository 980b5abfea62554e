#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include <simt/runtime/order.hpp>
#include <simt/runtime/recorder.hpp>
#include <simt/runtime/transfer.hpp>
#include <simt/transfer.hpp>

namespace simt {

namespace {

using runtime::Order;
using runtime::time_of;

/// A copy that has not landed. `values`: what an upload's source held when it was started, or what a download
/// brings.
struct Pending {
  int stream = 0;
  std::uint64_t time = 0;
  bool to_device = false;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::vector<std::byte> values;
};

class Transfers {
 public:
  static Transfers& instance() {
    static Transfers transfers;
    return transfers;
  }

  void* allocate_pinned(std::size_t bytes) {
    auto* const block = static_cast<std::byte*>(::operator new(bytes));
    const std::lock_guard lock(mutex_);
    pinned_.emplace(block, bytes);
    return block;
  }
  void free_pinned(void* block) noexcept {
    land_uploads([](const Pending&) { return true; });
    const std::lock_guard lock(mutex_);
    pinned_.erase(static_cast<const std::byte*>(block));
    ::operator delete(block);
  }

  void start(Pending copy, Copies landing) {
    const std::lock_guard lock(mutex_);
    if (!copy.to_device) {
      if (landing == Copies::early) {
        std::memcpy(copy.to, copy.values.data(), copy.values.size());
        return;
      }
      std::memset(copy.to, 0xff, copy.values.size());
    }
    const bool waits =
        !copy.to_device || (landing == Copies::late && is_pinned(copy.from, copy.values.size()));
    const int stream = copy.stream;
    pending_.push_back(std::move(copy));
    if (!waits)  // in the order of the stream
      land([&](const Pending& pending) { return pending.to_device && pending.stream == stream; });
  }
  template <class Which>
  void land_uploads(const Which& which) noexcept {
    const std::lock_guard lock(mutex_);
    land([&](const Pending& copy) { return copy.to_device && which(copy); });
  }
  /// What the host has waited for.
  void land_before(const Clock& clock) noexcept {
    const std::lock_guard lock(mutex_);
    land([&](const Pending& copy) { return copy.time <= time_of(clock, copy.stream); });
  }
  void check() {
    {
      const std::lock_guard lock(mutex_);
      if (!changed_) return;
    }
    land_uploads([](const Pending&) { return true; });  // one error for all of them
    const std::lock_guard lock(mutex_);
    changed_ = false;
    throw HostMemoryChanged("the host wrote to pinned memory before a copy to the device had read it");
  }

 private:
  template <class Which>
  void land(const Which& which) noexcept {
    if (std::none_of(pending_.begin(), pending_.end(), which)) return;
    const runtime::OpenDevice open;
    std::deque<Pending> left;
    for (Pending& copy : pending_) {
      if (!which(copy)) {
        left.push_back(std::move(copy));
        continue;
      }
      if (copy.to_device) {
        changed_ |= std::memcmp(copy.from, copy.values.data(), copy.values.size()) != 0;
        std::memcpy(copy.to, copy.from, copy.values.size());
      } else {
        std::memcpy(copy.to, copy.values.data(), copy.values.size());
      }
    }
    pending_ = std::move(left);
  }
  bool is_pinned(const std::byte* from, std::size_t bytes) const {
    const auto after = pinned_.upper_bound(from);
    if (after == pinned_.begin()) return false;
    const auto& [block, size] = *std::prev(after);
    return from + bytes <= block + size;
  }

  std::mutex mutex_;
  std::deque<Pending> pending_;
  std::map<const std::byte*, std::size_t> pinned_;
  bool changed_ = false;
};

Options options() { return Recorder::session() ? Recorder::session()->options() : Options{}; }

/// The host has waited for all that is in the clock.
void host_waited(const Clock& clock) {
  Recorder::count_wait();
  if (options().host_waits) {
    Order::instance().host_waits(clock);
    Transfers::instance().land_before(clock);
  }
  runtime::check_uploads();
  Order::instance().throw_pending();
}

}  // namespace

void runtime::land_uploads() noexcept {
  Transfers::instance().land_uploads([](const Pending&) { return true; });
}
void runtime::land_uploads(const Clock& clock) noexcept {
  Transfers::instance().land_uploads(
      [&](const Pending& copy) { return copy.time <= time_of(clock, copy.stream); });
}
void runtime::check_uploads() { Transfers::instance().check(); }

void* allocate_pinned(std::size_t bytes) { return Transfers::instance().allocate_pinned(bytes); }
void free_pinned(void* block) noexcept { Transfers::instance().free_pinned(block); }

void upload_async(void* to, const void* from, std::size_t bytes, Stream stream) {
  Order::instance().throw_pending();
  Recorder::count_upload();
  const Clock clock = Order::instance().next(stream, "an upload");
  Order::instance().touch("an upload", stream, clock, to, bytes, true);
  const auto* const source = static_cast<const std::byte*>(from);
  Transfers::instance().start({stream.number,
                               time_of(clock, stream.number),
                               true,
                               static_cast<std::byte*>(to),
                               source,
                               {source, source + bytes}},
                              options().copies);
  runtime::check_uploads();
}

void download_async(void* to, const void* from, std::size_t bytes, Stream stream) {
  Order::instance().refuse_while_recording(stream.number, "a copy to the host");
  Pending copy{stream.number, 0, false, static_cast<std::byte*>(to), nullptr, {}};
  {
    const StreamWork work("a download", stream);
    work.reads(from, bytes);
    copy.time = time_of(work.clock(), stream.number);
    const auto* const source = static_cast<const std::byte*>(from);
    copy.values.assign(source, source + bytes);
  }
  Transfers::instance().start(std::move(copy), options().copies);
}

Clock record_event(Stream stream) { return Order::instance().event(stream); }
void wait_for_event(Stream stream, const Clock& event) {
  Recorder::count_stream_wait();
  if (options().streams_wait) Order::instance().wait(stream, event);
}
void wait_for_event(const Clock& event) { host_waited(event); }
void wait_for_stream(Stream stream) {
  Order::instance().refuse_while_recording(stream.number, "the host waits for a stream");
  host_waited(Order::instance().event(stream));
}
void finish_stream(Stream stream) noexcept {
  const Clock clock = Order::instance().event(stream);
  Order::instance().host_waits(clock);
  Transfers::instance().land_before(clock);
}
void wait_for_device() {
  Order::instance().refuse_while_recording(-1, "the host waits for the device");
  host_waited(Order::instance().everything());
}

}  // namespace simt
