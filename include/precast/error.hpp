// The one family of errors: each carries one line for a human that says what, where and what to do; and how
// such a line says a size.
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

/// More memory than there is.
struct OutOfMemory : Error {
  using Error::Error;
};

/// The same, known before any of it is taken; the message says how much is needed, what is free and what to
/// try.
struct DoesNotFit : OutOfMemory {
  using OutOfMemory::OutOfMemory;
};

/// A size in words: "640 B", "24.1 GiB".
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
