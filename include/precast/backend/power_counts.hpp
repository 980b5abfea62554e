// Counts of powers of two, on this translation unit's backend.
#pragma once

#include <precast/problem/power_counts.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/reduction/power_counts.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/power_counts.hpp>
#endif
