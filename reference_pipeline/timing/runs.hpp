// Timing: the mean of the seconds that runs took, and how far they were from it.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace precast::timing {

struct Timing {
  double mean = 0;       ///< seconds
  double deviation = 0;  ///< standard deviation of the runs; 0 of one
};

/// What the seconds of runs, at least one, come to: their mean, and the root of the mean of squared distances
/// from it (numpy's std).
inline Timing timing_of(const std::vector<double>& seconds) {
  Timing timing;
  const auto count = static_cast<double>(seconds.size());
  for (const double value : seconds) timing.mean += value / count;
  for (const double value : seconds)
    timing.deviation += (value - timing.mean) * (value - timing.mean) / count;
  timing.deviation = std::sqrt(timing.deviation);
  return timing;
}

/// What is left of `both` without `part`, each measured by itself: the difference of the means, which may be
/// below zero where the first runs of a part were slow, and the deviation of a difference.
inline Timing difference(const Timing& both, const Timing& part) {
  return {both.mean - part.mean, std::hypot(both.deviation, part.deviation)};
}

/// Is called before each run; throws to stop.
using BeforeRun = std::function<void()>;

/// Runs `work` `warmup` times, and then `steps` times by the clock. `wait` returns when what the device was
/// given is done, and is called before each reading of the clock.
template <class Work, class Wait>
Timing measured(std::int64_t warmup, std::int64_t steps, const BeforeRun& before_run, const Wait& wait,
                Work&& work) {
  std::vector<double> seconds;
  for (std::int64_t run = 0; run < warmup + steps; ++run) {
    before_run();
    wait();
    const auto start = std::chrono::steady_clock::now();
    work();
    wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run >= warmup) seconds.push_back(taken.count());
  }
  return timing_of(seconds);
}

}  // namespace precast::timing
