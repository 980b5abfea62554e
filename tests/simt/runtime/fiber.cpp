#include <new>
#include <system_error>

#include <simt/runtime/fiber.hpp>
#include <sys/mman.h>

// Present when a sanitizer is linked, null otherwise: this library itself is never instrumented for threads.
extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* token);
[[gnu::weak]] void __tsan_release(void* token);
[[gnu::weak]] void __tsan_ignore_thread_begin();
[[gnu::weak]] void __tsan_ignore_thread_end();
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* memory, std::size_t size);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** save, const void* bottom, std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* save, const void** bottom, std::size_t* size);
}

namespace simt::runtime {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t stack_size = 64 * page;
constexpr unsigned no_sync = 1;  // __tsan_switch_to_fiber_no_sync: a switch orders no memory

}  // namespace

bool thread_sanitizer() { return __tsan_create_fiber != nullptr; }
void sanitizer_release(void* token) {
  if (thread_sanitizer()) __tsan_release(token);
}
void sanitizer_acquire(void* token) {
  if (thread_sanitizer()) __tsan_acquire(token);
}

Unseen::Unseen() {
  if (thread_sanitizer()) __tsan_ignore_thread_begin();
}
Unseen::~Unseen() {
  if (thread_sanitizer()) __tsan_ignore_thread_end();
}

Fiber::Fiber(void (*entry)(void*), void* argument)
    : entry_(entry), argument_(argument), stack_bytes_(stack_size) {
  mapping_ = mmap(nullptr, page + stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(mapping_, page, PROT_NONE) != 0)
    throw std::system_error(errno, std::generic_category(), "emulator: a stack's guard page");
  stack_bottom_ = static_cast<char*>(mapping_) + page;
  // Stacks that all begin at the same place of a page would share a few sets of the cache.
  static thread_local std::size_t made = 0;
  const std::size_t offset = made++ * 5 % 64 * 64;
  context_ = boost::context::detail::make_fcontext(static_cast<char*>(stack_bottom_) + stack_size - offset,
                                                   stack_size - offset, &Fiber::begin);
  if (thread_sanitizer()) thread_sanitizer_ = __tsan_create_fiber(0);
}

Fiber::~Fiber() {
  if (!mapping_) return;
  if (thread_sanitizer_) __tsan_destroy_fiber(thread_sanitizer_);
  // Its last frames never ended: AddressSanitizer would find them in what is mapped here next.
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(mapping_, page + stack_size);
  munmap(mapping_, page + stack_size);
}

void Fiber::switch_to(Fiber& next) {
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(&address_sanitizer_, next.stack_bottom_, next.stack_bytes_);
  if (thread_sanitizer()) {
    if (!thread_sanitizer_) thread_sanitizer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next.thread_sanitizer_, no_sync);
  }
  // Both ends of a switch are needed on the other stack: who goes, and where to.
  Fiber* ends[2] = {this, &next};
  arrive(boost::context::detail::jump_fcontext(next.context_, ends));
}

void Fiber::arrive(boost::context::detail::transfer_t from) {
  Fiber& previous = *static_cast<Fiber**>(from.data)[0];
  previous.context_ = from.fctx;
  if (__sanitizer_finish_switch_fiber) {
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(address_sanitizer_, &bottom, &bytes);
    previous.stack_bottom_ = const_cast<void*>(bottom);
    previous.stack_bytes_ = bytes;
  }
}

void Fiber::begin(boost::context::detail::transfer_t from) {
  Fiber& self = *static_cast<Fiber**>(from.data)[1];
  self.arrive(from);
  self.entry_(self.argument_);
}

}  // namespace simt::runtime
