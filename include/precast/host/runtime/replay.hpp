// Replay: work that is the same each time.
#pragma once

#include <utility>

namespace precast::host {

/// Runs a body again and again: the host has nothing to gain from remembering it, as a device has.
class Replay {
 public:
  template <class Body>
  void operator()(Body&& body) {
    std::forward<Body>(body)();
  }
};

}  // namespace precast::host
