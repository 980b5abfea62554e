#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <simt/device_memory.hpp>
#include <simt/runtime/order.hpp>
#include <simt/runtime/transfer.hpp>
#include <sys/mman.h>

#include <precast/error.hpp>

namespace simt {

namespace {

constexpr std::size_t capacity = std::size_t{4} << 30;  // of addresses: pages exist once they are written
constexpr std::size_t alignment = 256;

/// A first-fit heap over one reserved range.
class DeviceHeap {
 public:
  static DeviceHeap& instance() {
    static DeviceHeap heap;
    return heap;
  }
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;
  ~DeviceHeap() { munmap(base_, capacity); }

  std::byte* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      const auto [first, size] = *hole;
      if (size < bytes) continue;
      holes_.erase(hole);
      if (size > bytes) holes_.emplace(first + bytes, size - bytes);
      poison(first, bytes);
      return base_ + first;
    }
    throw precast::OutOfMemory("the emulated device has no room for " + std::to_string(bytes) + " bytes");
  }

  void free(std::byte* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto first = static_cast<std::size_t>(block - base_);
    poison(first, bytes);
    auto hole = holes_.emplace(first, bytes).first;
    if (const auto next = std::next(hole);
        next != holes_.end() && hole->first + hole->second == next->first) {
      hole->second += next->second;
      holes_.erase(next);
    }
    if (hole != holes_.begin())
      if (const auto before = std::prev(hole); before->first + before->second == hole->first) {
        before->second += hole->second;
        holes_.erase(hole);
      }
  }

  void open_for_kernel() {
    const std::lock_guard lock(mutex_);
    open();
  }
  void close_for_kernel() {
    const std::lock_guard lock(mutex_);
    close();
  }

 private:
  DeviceHeap() {
    void* const range =
        mmap(nullptr, capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw precast::OutOfMemory("there are no addresses left for an emulated device");
    base_ = static_cast<std::byte*>(range);
    holes_.emplace(0, capacity);
  }

  /// Makes memory NaN in every dtype: what was not written yet, or was freed. Memory that is closed waits for
  /// whoever opens it, since nobody can look before, and opening costs a call of the system.
  void poison(std::size_t first, std::size_t bytes) {
    if (users_ > 0)
      std::memset(base_ + first, 0xff, bytes);
    else
      poisoned_.emplace_back(first, bytes);
  }
  void open() {
    if (users_++ != 0) return;
    protect(PROT_READ | PROT_WRITE);
    for (const auto& [first, bytes] : poisoned_) std::memset(base_ + first, 0xff, bytes);
    poisoned_.clear();
  }
  void close() {
    if (--users_ == 0) protect(PROT_NONE);
  }
  void protect(int access) {
    if (mprotect(base_, capacity, access) != 0)
      throw precast::Error("the system did not change the protection of the emulated device's memory");
  }

  std::byte* base_ = nullptr;
  std::map<std::size_t, std::size_t> holes_;                   // offset -> size
  std::vector<std::pair<std::size_t, std::size_t>> poisoned_;  // offset, size: since it was open last
  int users_ = 0;
  std::mutex mutex_;
};

std::size_t rounded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

void* allocate_device(std::size_t bytes, Stream stream) {
  runtime::Order::instance().throw_pending();
  std::byte* const block = DeviceHeap::instance().allocate(rounded(bytes));
  runtime::Order::instance().allocated(block, rounded(bytes), stream);
  return block;
}
void free_device(void* block, std::size_t bytes, Stream stream) noexcept {
  runtime::land_uploads();  // what was on its way into it
  runtime::Order::instance().freed(block, stream);
  DeviceHeap::instance().free(static_cast<std::byte*>(block), rounded(bytes));
}

void runtime::open_device() { DeviceHeap::instance().open_for_kernel(); }
void runtime::close_device() { DeviceHeap::instance().close_for_kernel(); }
runtime::OpenDevice::OpenDevice() { open_device(); }
runtime::OpenDevice::~OpenDevice() { close_device(); }

DeviceAccess::DeviceAccess() {
  runtime::land_uploads();
  runtime::check_uploads();
  runtime::open_device();
}
DeviceAccess::~DeviceAccess() { runtime::close_device(); }

}  // namespace simt
