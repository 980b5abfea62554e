// Ctrl-C: the first asks the run to stop without leaving anything half-written, the second kills it.
#pragma once

#include <string>

#include <precast/error.hpp>

namespace precast::cli {

/// The user or the system asked the program to stop by a signal; its exit code is 128 + `signal`.
struct Interrupted : Error {
  Interrupted(const std::string& message, int by) : Error(message), signal(by) {}
  int signal;
};

/// Installs handlers for SIGINT, SIGTERM and SIGHUP, unless the parent ignores them: the first signal sets
/// a flag, the second kills. Ignores SIGPIPE, so that a closed pipe is a write error. May be called before
/// static initialisation, from the main thread, which receives the signals.
void catch_interrupts();

/// The signal that asked, or 0.
int interrupting_signal();

/// Whether the signal was sent by the parent process, as by mpirun, which does so where a rank has died.
/// False under srun: Slurm sends SIGTERM to ask for the end (scancel, time limit, preemption), and SIGKILL
/// where a rank has died.
bool is_interrupted_by_mpirun();

/// Throws Interrupted if the flag is set, with what the run leaves behind: "2 of 6 pictures written".
void throw_if_interrupted(const std::string& left_behind = "nothing was written");

}  // namespace precast::cli
