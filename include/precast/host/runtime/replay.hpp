// Replay: repeats the same work.
#pragma once

#include <utility>

namespace precast::host {

/// Calls the body at each replay: the host gains nothing from a capture, unlike a device.
class Replay {
 public:
  template <class Body>
  void operator()(Body&& body) {
    std::forward<Body>(body)();
  }
};

}  // namespace precast::host
