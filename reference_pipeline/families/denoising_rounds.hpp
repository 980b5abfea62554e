// How many rounds of a denoising loop a dry run needs.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/memory/dry_run.hpp>

namespace precast::families {

/// The rounds to run of a loop of `rounds`: all; in a dry run only those until the memory pool allocates
/// nothing new, since it learns the sizes in the first two (BlockCache).
inline std::int64_t rounds_to_run(std::int64_t rounds) {
  constexpr std::int64_t rounds_of_dry_run = 3;
  return DryRun::active() ? std::min(rounds_of_dry_run, rounds) : rounds;
}

}  // namespace precast::families
