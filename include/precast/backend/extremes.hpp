// Extremes of results, on this translation unit's backend.
#pragma once

#include <precast/backend/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/reduction/extremes.hpp>
#else
#include <precast/host/extremes.hpp>
#endif
