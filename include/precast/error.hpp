// The one family of errors: each carries one line for a human that says what, where and what to do.
#pragma once

#include <stdexcept>
#include <string>

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

/// More memory than there is; the message says how much is needed, what is free and what to try.
struct OutOfMemory : Error {
  using Error::Error;
};

}  // namespace precast
