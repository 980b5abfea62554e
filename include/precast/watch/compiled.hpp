// Whether ops of this build can be watched. The CMake option PRECAST_WATCH decides. Who only includes headers
// has the watch hook where PRECAST_HAS_WATCH is defined as 1, in all units of a program alike; with CUDA one of
// them then includes cuda/reduction/extremes_by_cub.hpp and stamps extremes_of for the results' dtypes.
#pragma once

#ifndef PRECAST_HAS_WATCH
#define PRECAST_HAS_WATCH 0
#endif

namespace precast::watch {

/// Without it ops report nothing, and no op is stamped a second time in f32 to be compared with.
inline constexpr bool compiled = PRECAST_HAS_WATCH != 0;

}  // namespace precast::watch
