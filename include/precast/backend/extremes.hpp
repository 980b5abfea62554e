// Extremes of results, on this translation unit's backend.
#pragma once

#include <precast/problem/extremes_kernel.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/reduction/extremes.hpp>
// Precast's own units, which define PRECAST_USE_CUDA, have one that defines it for all
// (kernels/reduction.cpp).
#if defined(__CUDACC__) && !defined(PRECAST_USE_CUDA)
#include <precast/cuda/reduction/extremes_by_cub.hpp>
#endif
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/reduction/extremes.hpp>
#endif
