// Replay of captured work, on this translation unit's backend.
#pragma once

#include <precast/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/replay.hpp>
#else
#include <precast/host/runtime/replay.hpp>
#endif
