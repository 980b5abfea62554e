// The exceptions of Precast: each message is one line that says what failed, where, and what to do. And
// in_bytes, which formats sizes in them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#if !defined(__cpp_exceptions) && !defined(__EXCEPTIONS) && !defined(__CUDA_ARCH__)
#error "Precast reports what is wrong by exceptions: compile without -fno-exceptions"
#endif

namespace precast {

/// Base of everything that Precast throws. `what()` is one line, without a trailing newline.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file, tensor or config that is not what it claims to be.
struct InputError : Error {
  using Error::Error;
};

/// Shapes that do not fit together.
struct ShapeError : Error {
  using Error::Error;
};

/// A precision path that this binary was built without; the message names the CMake option.
struct PathNotCompiled : Error {
  using Error::Error;
};

/// An allocation of more memory than there is.
struct OutOfMemory : Error {
  using Error::Error;
};

/// The same, known before anything is allocated; the message says how much is needed, how much is free and
/// what to try.
struct DoesNotFit : OutOfMemory {
  using OutOfMemory::OutOfMemory;
};

/// Formats a size in binary units: "640 B", "24.1 GiB".
inline std::string in_bytes(std::int64_t bytes) {
  constexpr const char* units[]{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

}  // namespace precast
