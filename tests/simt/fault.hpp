// Mistakes that a test can switch on in a kernel, to see that it fails then.
#pragma once

namespace simt {

namespace detail {
/// The number of this thread's running launch.
extern thread_local constinit unsigned launch_number;
/// Whether the session has switched the fault on; tells it that there is one.
bool ask_whether_planted(const char* name);
}  // namespace detail

/// Whether the fault of this name (a string in `Name.text`) is switched on in the running kernel. Asked once
/// a launch, for kernels ask in their innermost loops; the answer belongs to no thread of the kernel, so that
/// ThreadSanitizer is not to look.
template <auto Name>
__attribute__((no_sanitize("thread"))) bool is_planted() {
  thread_local constinit unsigned asked_in = 0;
  thread_local constinit bool answer = false;
  if (asked_in != detail::launch_number) [[unlikely]] {
    answer = detail::ask_whether_planted(Name.text);
    asked_in = detail::launch_number;
  }
  return answer;
}

}  // namespace simt
