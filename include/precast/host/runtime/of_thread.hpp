// An object of each thread, which is there for destructors at the end of the program, too.
#pragma once

#include <utility>

namespace precast::host::detail {

/// The calling thread's T for a `Use`, made when it is first asked for, and destroyed with the thread. What
/// asks later still, as ops in the destructors of static objects and of other thread_local ones do, gets
/// another one, which nobody destroys.
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
