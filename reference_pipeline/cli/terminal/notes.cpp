#include <atomic>
#include <iostream>

#include <cli/terminal/notes.hpp>

namespace precast::cli {

namespace {

std::atomic<bool> is_quiet = false;  // atomic: the signal handler reads it
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void set_quiet(bool quiet) { is_quiet = quiet; }
bool quiet() { return is_quiet; }

std::ostream& notes() {
  static std::ostream null_stream(nullptr);
  return is_quiet ? null_stream : std::cerr;
}

}  // namespace precast::cli
