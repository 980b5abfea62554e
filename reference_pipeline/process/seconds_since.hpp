// seconds_since: how long something takes, by the steady clock.
#pragma once

#include <chrono>

namespace precast::process {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace precast::process
