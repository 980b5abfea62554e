// RequestError: a request that is invalid whatever the files contain.
#pragma once

#include <precast/error.hpp>

namespace precast::families {

/// A setting of a request out of its range, or a device that does not exist: the caller must change it.
struct RequestError : InputError {
  using InputError::InputError;
};

}  // namespace precast::families
