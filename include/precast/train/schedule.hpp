// Learning rates over the steps of a run: constant or a cosine, after a linear warm-up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace precast::train {

enum class Schedule : std::uint8_t { constant, cosine };

/// The factor on the learning rate in step `step`, counted from 0, of `steps`: it rises linearly from 0
/// over `warmup` steps, then stays 1 or falls to 0 in half a cosine, as in transformers'
/// get_constant_schedule_with_warmup and get_cosine_schedule_with_warmup.
inline double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t warmup, std::int64_t steps) {
  if (step < warmup)
    return static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(1, warmup));
  if (schedule == Schedule::constant) return 1;
  const double progress =
      static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, steps - warmup));
  return std::max(0.0, 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

}  // namespace precast::train
