// RequestError: what was asked for cannot be, whatever the files say.
#pragma once

#include <precast/error.hpp>

namespace precast::families {

/// A setting of a request out of its range, or a device that there is not: who asked is to ask otherwise.
struct RequestError : InputError {
  using InputError::InputError;
};

}  // namespace precast::families
