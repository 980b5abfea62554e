// Dropout, on this translation unit's backend.
#pragma once

#include <precast/problem/gradient_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/pointwise/dropout.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/pointwise/dropout.hpp>
#endif
