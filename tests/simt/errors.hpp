// What the emulator throws out of launch(): each says which kernel, block, thread, warp and lane did what.
#pragma once

#include <array>
#include <stdexcept>
#include <string>

namespace simt {

/// Which thread of which launch.
struct Place {
  std::string kernel;
  std::array<int, 3> block{};
  int thread = -1;  ///< -1: the block as a whole
};

/// Base of all of them. `what()` begins with the place.
struct Error : std::runtime_error {
  Error(Place where, const std::string& message);
  Place place;
};

/// A launch that no device would start: its sizes.
struct BadLaunch : Error {
  using Error::Error;
};
/// An access outside an array, or through a null pointer.
struct OutOfBounds : Error {
  using Error::Error;
};
/// An access of several bytes at an address that is not a multiple of them.
struct Misaligned : Error {
  using Error::Error;
};
/// More shared memory than the launch asked for, or than there is.
struct SharedMemoryExceeded : Error {
  using Error::Error;
};
/// Threads that must do the same thing together and do not.
struct Divergence : Error {
  using Error::Error;
};
/// Threads that wait for each other.
struct Deadlock : Error {
  using Error::Error;
};
/// A block that ended while the device was still at work for it.
struct Unfinished : Error {
  using Error::Error;
};
/// An argument that the instruction does not take.
struct BadArgument : Error {
  using Error::Error;
};
/// A kernel's own code threw an exception, whose message this one repeats.
struct ThrownInKernel : Error {
  using Error::Error;
};

}  // namespace simt
