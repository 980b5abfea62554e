// Ctrl-C: the first one asks the running work to stop where nothing is half-written, the second ends at once.
#pragma once

#include <string>

#include <precast/error.hpp>

namespace precast::cli {

/// The user or the system asked the program to stop, by this signal; it ends with 128 and its number.
struct Interrupted : Error {
  Interrupted(const std::string& message, int by) : Error(message), signal(by) {}
  int signal;
};

/// From now on SIGINT, SIGTERM and SIGHUP (the terminal was closed) set a flag once and kill the second time,
/// unless the parent had them ignored; a closed pipe is an error of the write to it. May be called before
/// anything else of the program is ready, by the thread that signals go to: its first.
void catch_interrupts();

/// The signal that asked, or 0.
int interrupting_signal();

/// Whether it came from the process that started this one, as mpirun's does.
bool is_interrupted_by_starter();

/// Throws Interrupted where the flag is set, with what the run leaves behind: "2 of 6 pictures written".
void throw_if_interrupted(const std::string& left_behind = "nothing was written");

}  // namespace precast::cli
