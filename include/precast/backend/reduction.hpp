// Reductions, on this translation unit's backend.
#pragma once

#include <precast/problem/reduction_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/reduction/reduce_values.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/reduction/reduction.hpp>
#endif
