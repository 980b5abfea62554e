// Whether ops of this build can be watched. The CMake option PRECAST_WATCH decides; who only includes headers
// has no watch hook unless PRECAST_HAS_WATCH is defined as 1, in all units of a program alike.
#pragma once

#ifndef PRECAST_HAS_WATCH
#define PRECAST_HAS_WATCH 0
#endif

namespace precast::watch {

/// Without it ops report nothing, and no op is stamped a second time in f32 to be compared with.
inline constexpr bool compiled = PRECAST_HAS_WATCH != 0;

#if !PRECAST_HAS_WATCH
/// Whether anybody observes.
constexpr bool active() { return false; }
#endif

}  // namespace precast::watch
