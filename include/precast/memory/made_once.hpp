// An object that all threads share, made by the first that asks, also in the child of a fork.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

namespace precast::detail {

/// The object at `object`, made by `make` for the first caller. It is not destroyed, since detached threads
/// and destructors of static objects may use it at the end of the program; `at_end` is called there, or
/// where its library is unloaded.
///
/// A static local would make callers wait for its guard, whose owner may not exist in the child of a fork.
/// Here nobody waits: two threads that ask at the same moment both make an object, and the second is
/// dropped. `make` must be safe to call twice.
template <class T, class Make>
T& made_once(std::atomic<T*>& object, Make&& make, void (*at_end)()) {
  T* made = object.load(std::memory_order_acquire);
  if (made) [[likely]]
    return *made;
  std::unique_ptr<T> fresh = std::forward<Make>(make)();
  if (!object.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) return *made;
  std::atexit(at_end);
  return *fresh.release();
}

}  // namespace precast::detail
