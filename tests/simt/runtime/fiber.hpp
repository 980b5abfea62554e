// A stack and a place to go on at: boost.context's fcontext, told to the sanitizers where they are linked.
#pragma once

#include <cstddef>

#include <boost/context/detail/fcontext.hpp>

namespace simt::runtime {

/// A function on a stack of its own. The default is the stack that the program runs on.
class Fiber {
 public:
  Fiber() = default;
  /// Will run `entry(argument)`, which must not return, when it is first switched to.
  Fiber(void (*entry)(void*), void* argument);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on at `next`; returns when somebody switches to this fiber, which must be the running one.
  void switch_to(Fiber& next);

 private:
  static void begin(boost::context::detail::transfer_t from);
  void arrive(boost::context::detail::transfer_t from);

  boost::context::detail::fcontext_t context_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* mapping_ = nullptr;  // a guard page, and above it the stack
  void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* thread_sanitizer_ = nullptr;
  void* address_sanitizer_ = nullptr;
};

/// What another thread did before its release of `token` is seen after: for ThreadSanitizer, which knows
/// nothing else of who waits for whom.
void sanitizer_release(void* token);
void sanitizer_acquire(void* token);
/// Whether ThreadSanitizer is linked.
bool thread_sanitizer();

/// While one lives, ThreadSanitizer does not look: at the emulator's own use of memory on a fiber of a
/// kernel.
class Unseen {
 public:
  Unseen();
  ~Unseen();
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

}  // namespace simt::runtime
