// Calls to C libraries that report errors by longjmp, which runs no destructors.
#pragma once

#include <csetjmp>
#include <type_traits>

namespace precast::image {

/// Runs calls to such a library; returns true if they completed, false if one of them jumped to `place`.
/// `calls` must not own anything, since an error jumps out of it. setjmp is called in this frame, which has
/// no destructors either.
template <class Calls>
bool succeeds(std::jmp_buf& place, Calls&& calls) {
  static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Calls>>,
                "what a library's errors jump over must not own anything");
  if (setjmp(place)) return false;
  calls();
  return true;
}

}  // namespace precast::image
