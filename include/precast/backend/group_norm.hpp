// Group normalisation, on this translation unit's backend.
#pragma once

#include <precast/problem/norm_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/norm/group_norm.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/norm/group_norm.hpp>
#endif
