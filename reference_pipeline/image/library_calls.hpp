// Calls to C libraries that leave a failing call by longjmp, which runs no destructors.
#pragma once

#include <csetjmp>
#include <type_traits>

namespace precast::image {

/// Runs calls to such a library; returns whether they went through, false where one of them jumped to
/// `place`. `calls` must own nothing, for an error in one of them jumps out of it. The catch of setjmp lives
/// in this frame, which has no destructors either.
template <class Calls>
bool went_through(std::jmp_buf& place, Calls&& calls) {
  static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Calls>>,
                "what a library's errors jump over must not own anything");
  if (setjmp(place)) return false;
  calls();
  return true;
}

}  // namespace precast::image
