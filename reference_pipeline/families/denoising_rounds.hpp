// How much of a denoising loop a dry run has to take.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/memory/dry_run.hpp>

namespace precast::families {

/// The rounds to run of a loop of `rounds`: all; in a dry run those after which the pool of memory takes
/// nothing new for it, which learns sizes in the first two (BlockCache).
inline std::int64_t rounds_to_run(std::int64_t rounds) {
  constexpr std::int64_t until_nothing_is_new = 3;
  return DryRun::active() ? std::min(until_nothing_is_new, rounds) : rounds;
}

}  // namespace precast::families
