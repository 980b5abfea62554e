// Ctrl-C: the first one asks the running work to stop where nothing is half-written, the second ends at once.
#pragma once

#include <precast/error.hpp>

namespace precast::cli {

/// The user asked the program to stop; it ends with exit code 130.
struct Interrupted : Error {
  using Error::Error;
};

/// From now on SIGINT and SIGTERM set a flag once and kill the second time; a closed pipe is an error of the
/// write to it.
void catch_interrupts();

/// Throws Interrupted where the flag is set.
void throw_if_interrupted();

}  // namespace precast::cli
