// A thread-local object that destructors at the end of the program can still use.
#pragma once

#include <utility>

namespace precast::host::detail {

/// The calling thread's T for a `Use`, made when it is first asked for, and destroyed with the thread. A
/// call after that, as by ops in the destructors of static or other thread_local objects, gets another one,
/// which is never destroyed.
template <class T, class Use = T>
T& of_thread() {
  thread_local T* object = nullptr;
  if (!object) [[unlikely]] {
    object = new T;
    thread_local const struct End {
      ~End() { delete std::exchange(object, nullptr); }
    } end;
    static_cast<void>(end);
  }
  return *object;
}

}  // namespace precast::host::detail
